package dev.interlock.storm.nemesis;

import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
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
 * Faults of the store. An injection is closed when the store is whole again, and only then comes
 * the next one, so that never more than a minority of its servers is missing.
 */
final class StoreFaults {
  /** More than the accuracy of a check of a server's clock. */
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
   * @param deployment its servers, if the storm may hit them
   * @param past a client that bypasses all proxies
   * @param names the names of the locks that may be deleted
   */
  StoreFaults(@Nullable Deployment deployment, LockClient past, List<String> names) {
    this.deployment = deployment;
    this.past = past;
    this.names = names;
  }

  /** Whether all servers are Redis, and nothing fails over to a replica when one is demoted. */
  static boolean canBeDemoted(Deployment servers) {
    return !servers.canChangeLeader()
        && servers.members().stream().allMatch(RedisServer.class::isInstance);
  }

  Injection inject(FaultKind kind, int choice) throws Exception {
    return switch (kind) {
      case STOP_SERVER -> hit(member(choice), DisposableServer::pause);
      case DEMOTE_SERVER -> {
        RedisServer server = (RedisServer) member(choice);
        server.demote();
        yield new Injection(server.name(), "", server::promote);
      }
      case RESTART_SERVER -> hit(member(choice), DisposableServer::kill);
      case EMPTY_SERVER -> hit(member(choice), DisposableServer::restartEmpty);
      case CUT_OFF_SERVER -> hit(member(choice), servers()::cutOff);
      case LOSE_MINORITY -> {
        List<DisposableServer> lost = minority(choice);
        lost.forEach(DisposableServer::kill);
        yield untilHealed(names(lost), "");
      }
      case CUT_OFF_PRIMARY -> {
        DisposableServer primary = leader(choice);
        servers().cutOff(primary);
        awaitSuccessor(primary);
        yield untilHealed(primary.name(), "led by " + leaders());
      }
      case LOSE_LEADER, FAIL_OVER -> {
        DisposableServer leader = leader(choice);
        leader.kill();
        // Waits until there is another leader.
        yield untilHealed(leader.name(), "led by " + leaders());
      }
      case CHANGE_LEADER -> {
        String before = leaders();
        servers().changeLeader();
        yield untilHealed(before, "led by " + leaders());
      }
      case STEP_CLOCK -> step(choice);
      case DELETE -> delete();
      case END_SESSION -> {
        Optional<String> ended = servers().endSession(choice);
        yield new Injection(
            ended.map(id -> "session " + id).orElse("no session"),
            ended::isPresent,
            () -> "",
            () -> {});
      }
      default -> throw new IllegalArgumentException(kind + " does not hit the store");
    };
  }

  private interface Action {
    void on(DisposableServer server) throws Exception;
  }

  private Injection hit(DisposableServer server, Action action) throws Exception {
    action.on(server);
    return untilHealed(server.name(), "");
  }

  private Injection untilHealed(String target, String note) {
    return new Injection(target, note, this::heal);
  }

  /** Heals the servers from all faults. */
  void heal() {
    if (deployment == null) {
      return;
    }
    deployment.heal();
    if (deployment instanceof RedlockNodes redlock) {
      awaitVotes(redlock);
    }
  }

  private void awaitSuccessor(DisposableServer primary) {
    Waiting.demandThat(
        SUCCESSION,
        primary.name() + " was not replaced",
        () -> !servers().leaders().contains(primary));
  }

  /**
   * A restarted node does not vote until every lock that it may have forgotten has ended; until
   * then it is missing as if it were dead.
   */
  private static void awaitVotes(RedlockNodes redlock) {
    for (RedisServer node : redlock.members()) {
      Waiting.demandThat(
          ADMISSION, node.name() + " was not admitted to the vote", () -> votes(node));
    }
  }

  private static boolean votes(RedisServer node) throws IOException {
    return node.call("HGET", "interlock:redlock", "base") != null
        && node.call("HGET", "interlock:redlock", "pending") == null;
  }

  /**
   * Steps a clock. Keys that were set while it was ahead expire later by the step, so the effects
   * last for that long.
   */
  private Injection step(int choice) throws Exception {
    List<? extends DisposableServer> movable =
        servers().members().stream().filter(DisposableServer::canSetClock).toList();
    DisposableServer server = movable.get(choice % movable.size());
    int seconds = SHORTEST_STEP_SECONDS + choice / 2 % STEPS;
    boolean back = choice % 2 == 1;
    Duration before = server.clockAhead();
    server.setClock(before.plusSeconds(back ? -seconds : seconds));
    return new Injection(
        server.name(),
        seconds + (back ? " s back" : " s ahead"),
        () -> {
          server.setClock(before);
          TimeUnit.SECONDS.sleep(seconds);
        });
  }

  /**
   * Deletes all locks repeatedly: which of them clients hold for long, and would lose to another
   * client, is not known here.
   */
  private Injection delete() {
    AtomicInteger deleted = new AtomicInteger();
    deleteAll(deleted);
    Thread thread =
        DaemonThreads.factory("nemesis-deletes")
            .newThread(
                () -> {
                  try {
                    while (true) {
                      TimeUnit.NANOSECONDS.sleep(BETWEEN_DELETIONS.toNanos());
                      deleteAll(deleted);
                    }
                  } catch (InterruptedException e) {
                    // The fault is over.
                  } catch (LockException e) {
                    // The store is out of reach, as for clients; what was deleted is enough.
                  }
                });
    thread.start();
    return new Injection(
        "all locks",
        () -> deleted.get() > 0,
        () -> "deleted " + deleted.get(),
        () -> {
          thread.interrupt();
          thread.join();
        });
  }

  private void deleteAll(AtomicInteger deleted) {
    for (String name : names) {
      if (past.admin().forceRelease(name)) {
        deleted.incrementAndGet();
      }
    }
  }

  private Deployment servers() {
    if (deployment == null) {
      throw new IllegalStateException("the storm must not hit these servers");
    }
    return deployment;
  }

  private String leaders() {
    return names(servers().leaders());
  }

  private DisposableServer leader(int choice) {
    List<? extends DisposableServer> leaders = servers().leaders();
    return leaders.get(choice % leaders.size());
  }

  private DisposableServer member(int choice) {
    List<? extends DisposableServer> members = servers().members();
    return members.get(choice % members.size());
  }

  private List<DisposableServer> minority(int choice) {
    List<DisposableServer> lost = new ArrayList<>();
    for (int i = 0; i < PossibleFaults.minority(servers().members().size()); i++) {
      lost.add(member(choice + i));
    }
    return lost;
  }

  private static String names(List<? extends DisposableServer> servers) {
    return servers.stream().map(DisposableServer::name).collect(Collectors.joining(", "));
  }
}
