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
 * Injects faults into the store. Closing an injection waits until the store is whole again, and the
 * next one begins only then, so never more than a minority of the servers is missing.
 */
final class StoreFaults {
  /** The minimum exceeds the accuracy of reading a server's clock. */
  private static final int MIN_STEP_SECONDS = 3;

  private static final int STEP_SIZES = 3;
  private static final Duration ADMISSION_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration SUCCESSION_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration DELETION_INTERVAL = Duration.ofMillis(300);

  private final @Nullable Deployment deployment;
  private final LockClient directClient;
  private final List<String> names;

  /**
   * Prepares faults of a store.
   *
   * @param deployment the servers; null if the storm must not hit them
   * @param directClient a client that bypasses all proxies
   * @param names the names of the locks that may be deleted
   */
  StoreFaults(@Nullable Deployment deployment, LockClient directClient, List<String> names) {
    this.deployment = deployment;
    this.directClient = directClient;
    this.names = names;
  }

  /** {@return whether all servers are Redis, and nothing fails over when one is demoted} */
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
        List<DisposableServer> minority = minority(choice);
        minority.forEach(DisposableServer::kill);
        yield untilHealed(names(minority), "");
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
        // leaders() waits until there is another leader.
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
      default -> throw new IllegalArgumentException(kind + " is not a fault of the store");
    };
  }

  private interface ServerAction {
    void on(DisposableServer server) throws Exception;
  }

  private Injection hit(DisposableServer server, ServerAction action) throws Exception {
    action.on(server);
    return untilHealed(server.name(), "");
  }

  private Injection untilHealed(String target, String note) {
    return new Injection(target, note, this::heal);
  }

  /** Ends all faults of the servers. */
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
        SUCCESSION_TIMEOUT,
        "no server has replaced " + primary.name(),
        () -> !servers().leaders().contains(primary));
  }

  /**
   * Waits until all nodes vote. A restarted node does not vote, and is as good as dead, until every
   * lock that it may have forgotten has ended.
   */
  private static void awaitVotes(RedlockNodes redlock) {
    for (RedisServer node : redlock.members()) {
      Waiting.demandThat(ADMISSION_TIMEOUT, node.name() + " does not vote", () -> votes(node));
    }
  }

  private static boolean votes(RedisServer node) throws IOException {
    return node.call("HGET", "interlock:redlock", "base") != null
        && node.call("HGET", "interlock:redlock", "pending") == null;
  }

  /**
   * Steps a clock. The fault lasts longer by the size of the step, because keys that were set while
   * the clock was ahead expire that much later.
   */
  private Injection step(int choice) throws Exception {
    List<? extends DisposableServer> candidates =
        servers().members().stream().filter(DisposableServer::canSetClock).toList();
    DisposableServer server = candidates.get(choice % candidates.size());
    int seconds = MIN_STEP_SECONDS + choice / 2 % STEP_SIZES;
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
   * Deletes all locks repeatedly, because the nemesis does not know which locks are held for long
   * enough that another client acquires them.
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
                      TimeUnit.NANOSECONDS.sleep(DELETION_INTERVAL.toNanos());
                      deleteAll(deleted);
                    }
                  } catch (InterruptedException e) {
                    // The fault is over.
                  } catch (LockException e) {
                    // The store cannot be reached, and enough was deleted.
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
      if (directClient.admin().forceRelease(name)) {
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
    List<DisposableServer> minority = new ArrayList<>();
    for (int i = 0; i < PossibleFaults.minority(servers().members().size()); i++) {
      minority.add(member(choice + i));
    }
    return minority;
  }

  private static String names(List<? extends DisposableServer> servers) {
    return servers.stream().map(DisposableServer::name).collect(Collectors.joining(", "));
  }
}
