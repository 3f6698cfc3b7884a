package dev.interlock.storm.nemesis;

import dev.interlock.spi.DaemonThreads;
import dev.interlock.tck.process.OtherProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * A process that acquires many locks that nobody else uses, and is killed with all of them.
 * Everything that the store keeps for one client then ends at once: a ZooKeeper session, for
 * example, ends with all of its nodes in one transaction.
 */
public final class HolderOfMany implements AutoCloseable {
  private static final String NAME = "client-with-many";
  private static final Duration START_TIMEOUT = Duration.ofSeconds(60);
  private static final int LEASES_PER_SECOND = 20;
  private static final int MAX_LEASES = 10_000;

  private final OtherProcess process;
  private final String prefix;
  private final int names;
  private final Duration hold;
  private final CompletableFuture<String> acquisition;

  /**
   * Starts the process, which acquires locks for at most half of the duration.
   *
   * @param prefix the prefix of the locks' names
   * @param duration the duration of the storm
   */
  public HolderOfMany(OtherProcess.Settings settings, String prefix, Duration duration)
      throws IOException, InterruptedException {
    this.process = OtherProcess.start(settings);
    this.prefix = prefix;
    this.names = (int) Math.min(MAX_LEASES, LEASES_PER_SECOND * duration.toSeconds());
    Duration ttl = settings.options().ttl();
    Duration quarter = duration.dividedBy(4);
    this.hold = ttl.compareTo(quarter) < 0 ? ttl : quarter;
    this.acquisition =
        CompletableFuture.supplyAsync(
            () -> acquire(duration),
            task ->
                DaemonThreads.factory("interlock-storm-holder-of-many").newThread(task).start());
  }

  /** {@return names by which residue of its locks is found: the prefix of all, and two of them} */
  public List<String> names() {
    return List.of(prefix, HoldMany.name(prefix, 0), HoldMany.name(prefix, names - 1));
  }

  private String acquire(Duration duration) {
    String limit = duration.dividedBy(2).toString();
    try {
      return process.call(
          START_TIMEOUT.plus(duration), HoldMany.class, prefix, Integer.toString(names), limit);
    } catch (IOException | InterruptedException e) {
      return "an unknown number"; // the storm is over and has killed the process
    }
  }

  /**
   * Kills the process when it has acquired all the locks that it can, and has held them for a TTL.
   *
   * @param origin {@link System#nanoTime()} at the beginning of the storm
   * @param inside whether exclusion survives the death of a client
   */
  public CompletableFuture<InjectedFault> kill(long origin, boolean inside) {
    Executor afterHold = CompletableFuture.delayedExecutor(hold.toNanos(), TimeUnit.NANOSECONDS);
    return acquisition.thenApplyAsync(
        leases -> {
          Duration from = Duration.ofNanos(System.nanoTime() - origin);
          close();
          return new InjectedFault(
              FaultKind.KILL_CLIENT.label(),
              NAME,
              inside,
              from,
              Duration.ofNanos(System.nanoTime() - origin),
              leases.matches("[1-9]\\d*"),
              "with " + leases + " of " + names + " leases");
        },
        afterHold);
  }

  @Override
  public void close() {
    process.close();
  }
}
