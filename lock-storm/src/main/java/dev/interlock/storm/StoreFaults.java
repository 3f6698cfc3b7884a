package dev.interlock.storm;

import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.testbed.Deployment;
import dev.interlock.testbed.DisposableServer;
import dev.interlock.testbed.RedisServer;
import dev.interlock.testbed.RedlockNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What is done to the store. A injection is closed when the store is whole again, and only then
 * comes the next one, so that never more than a minority of its servers is missing.
 */
final class StoreFaults {
  /** More than the accuracy with which a server's word for its time can be checked. */
  private static final int SHORTEST_STEP_SECONDS = 3;

  private static final int STEPS = 3;
  private static final Duration ADMISSION = Duration.ofMinutes(2);
  private static final Duration SUCCESSION = Duration.ofSeconds(30);
  private static final Duration BETWEEN_DELETIONS = Duration.ofMillis(300);

  private final @Nullable Deployment deployment;
  private final LockClient past;
  private final List<String> names;

  /**
   * The store.
   *
   * @param deployment its servers, if they are ours
   * @param past a client that goes to it past all proxies
   * @param names the names of the locks that may be deleted
   */
  StoreFaults(@Nullable Deployment deployment, LockClient past, List<String> names) {
    this.deployment = deployment;
    this.past = past;
    this.names = names;
  }

  static boolean hasMovableClock(DisposableServer server) {
    return server instanceof RedisServer redis && redis.canSetClock();
  }

  /** Whether all servers are Redis, and nothing fails over to a replica when one is demoted. */
  static boolean canBeDemoted(Deployment servers) {
    return !servers.canChangeLeader()
        && servers.members().stream().allMatch(RedisServer.class::isInstance);
  }

  Injection deal(FaultKind kind, int choice) throws Exception {
    return switch (kind) {
      case STOP_SERVER -> {
        DisposableServer server = member(choice);
        server.pause();
        yield new Broken(server.name(), "");
      }
      case DEMOTE_SERVER -> demote(choice);
      case RESTART_SERVER -> {
        DisposableServer server = member(choice);
        server.kill();
        yield new Broken(server.name(), "");
      }
      case EMPTY_SERVER -> {
        DisposableServer server = member(choice);
        server.restartEmpty();
        yield new Broken(server.name(), "");
      }
      case LOSE_MINORITY -> {
        List<DisposableServer> lost = minority(choice);
        lost.forEach(DisposableServer::kill);
        yield new Broken(names(lost), "");
      }
      case CUT_OFF_SERVER -> {
        DisposableServer server = member(choice);
        servers().cutOff(server);
        yield new Broken(server.name(), "");
      }
      case CUT_OFF_PRIMARY -> {
        List<? extends DisposableServer> masters = servers().leaders();
        DisposableServer master = masters.get(choice % masters.size());
        servers().cutOff(master);
        awaitSuccessor(master);
        yield new Broken(master.name(), "led by " + names(servers().leaders()));
      }
      case LOSE_LEADER, FAIL_OVER -> {
        List<? extends DisposableServer> leaders = servers().leaders();
        DisposableServer leader = leaders.get(choice % leaders.size());
        leader.kill();
        // Returns when another one is in office.
        yield new Broken(leader.name(), "led by " + names(servers().leaders()));
      }
      case CHANGE_LEADER -> {
        String before = names(servers().leaders());
        servers().changeLeader();
        yield new Broken(before, "led by " + names(servers().leaders()));
      }
      case STEP_CLOCK -> step(choice);
      case DELETE -> delete();
      case END_SESSION -> endSession(choice);
      default -> throw new IllegalArgumentException(kind + " does not hit the store");
    };
  }

  /** Servers that are not what they should be, until the whole is. */
  private final class Broken implements Injection {
    private final String target;
    private final String note;

    Broken(String target, String note) {
      this.target = target;
      this.note = note;
    }

    @Override
    public String target() {
      return target;
    }

    @Override
    public String note() {
      return note;
    }

    @Override
    public void close() throws Exception {
      heal();
    }
  }

  /** Brings the servers back from whatever was done to them. */
  void heal() throws IOException, InterruptedException {
    if (deployment == null) {
      return;
    }
    deployment.heal();
    if (deployment instanceof RedlockNodes redlock) {
      awaitVotes(redlock);
    }
  }

  private void awaitSuccessor(DisposableServer master) throws InterruptedException {
    long end = System.nanoTime() + SUCCESSION.toNanos();
    while (servers().leaders().contains(master)) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException(master.name() + " was not replaced in " + SUCCESSION);
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  /**
   * A restarted node does not vote until every lock that it may have forgotten has ended; until
   * then it is missing as if it were dead.
   */
  private static void awaitVotes(RedlockNodes redlock) throws IOException, InterruptedException {
    long end = System.nanoTime() + ADMISSION.toNanos();
    for (RedisServer node : redlock.members()) {
      while (!votes(node)) {
        if (System.nanoTime() - end > 0) {
          throw new IllegalStateException(
              node.name() + " was not let into the vote in " + ADMISSION);
        }
        TimeUnit.MILLISECONDS.sleep(20);
      }
    }
  }

  private static boolean votes(RedisServer node) throws IOException {
    return node.call("HGET", "interlock:redlock", "base") != null
        && node.call("HGET", "interlock:redlock", "pending") == null;
  }

  /**
   * Keys that were set while the clock was ahead expire later by the step, so that long its effects
   * last.
   */
  private Injection step(int choice) throws Exception {
    List<RedisServer> movable = new ArrayList<>();
    for (DisposableServer member : servers().members()) {
      if (member instanceof RedisServer redis && redis.canSetClock()) {
        movable.add(redis);
      }
    }
    RedisServer server = movable.get(choice % movable.size());
    int seconds = SHORTEST_STEP_SECONDS + choice / 2 % STEPS;
    boolean back = choice % 2 == 1;
    Duration before = server.clockAhead();
    server.setClock(before.plusSeconds(back ? -seconds : seconds));
    return new Injection() {
      @Override
      public String target() {
        return server.name();
      }

      @Override
      public String note() {
        return seconds + (back ? " s back" : " s ahead");
      }

      @Override
      public void close() throws InterruptedException {
        server.setClock(before);
        TimeUnit.SECONDS.sleep(seconds);
      }
    };
  }

  private Injection demote(int choice) throws IOException {
    RedisServer server = (RedisServer) member(choice);
    server.demote();
    return new Injection() {
      @Override
      public String target() {
        return server.name();
      }

      @Override
      public void close() throws IOException {
        server.promote();
      }
    };
  }

  private Injection delete() {
    Deletions deletions = new Deletions();
    deletions.start();
    return deletions;
  }

  /**
   * Deletes all locks again and again: which of them somebody means to keep for long, and loses to
   * another one, is not known here.
   */
  private final class Deletions implements Injection {
    private final AtomicInteger deleted = new AtomicInteger();
    private final Thread thread = new Thread(this::goOn, "nemesis-deletes");

    void start() {
      deleteAll();
      thread.setDaemon(true);
      thread.start();
    }

    private void deleteAll() {
      for (String name : names) {
        if (past.forceRelease(name)) {
          deleted.incrementAndGet();
        }
      }
    }

    private void goOn() {
      try {
        while (true) {
          TimeUnit.NANOSECONDS.sleep(BETWEEN_DELETIONS.toNanos());
          deleteAll();
        }
      } catch (InterruptedException e) {
        // It is over.
      } catch (LockException e) {
        // Out of reach, as for clients; what was deleted so far is enough.
      }
    }

    @Override
    public String target() {
      return "all locks";
    }

    @Override
    public boolean tookEffect() {
      return deleted.get() > 0;
    }

    @Override
    public String note() {
      return "deleted " + deleted.get();
    }

    @Override
    public void close() throws InterruptedException {
      thread.interrupt();
      thread.join();
    }
  }

  private Injection endSession(int choice) {
    Optional<String> ended = servers().endSession(choice);
    return new Done("session " + ended.orElse("of nobody"), ended.isPresent());
  }

  /** What is over as soon as it was dealt. */
  private record Done(String target, boolean tookEffect) implements Injection {
    @Override
    public void close() {}
  }

  private Deployment servers() {
    if (deployment == null) {
      throw new IllegalStateException("the servers are not ours");
    }
    return deployment;
  }

  private DisposableServer member(int choice) {
    List<? extends DisposableServer> members = servers().members();
    return members.get(choice % members.size());
  }

  private List<DisposableServer> minority(int choice) {
    List<DisposableServer> lost = new ArrayList<>();
    for (int i = 0; i < FaultCatalog.minority(servers().members().size()); i++) {
      lost.add(member(choice + i));
    }
    return lost;
  }

  private static String names(List<? extends DisposableServer> servers) {
    return servers.stream().map(DisposableServer::name).collect(Collectors.joining(", "));
  }
}
