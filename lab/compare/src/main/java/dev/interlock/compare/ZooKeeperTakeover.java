package dev.interlock.compare;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.Harness;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Measures how soon a waiter gets the lock of a killed process; all clients have the same session
 * time-out.
 */
final class ZooKeeperTakeover {

  /** Shorter than the defaults, so that the difference between the clients shows. */
  private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(3);

  private static final Duration ACQUIRE_TIMEOUT = Duration.ofMinutes(1);

  private ZooKeeperTakeover() {}

  /** Lets another process acquire a lock, waits for the lock, and kills the process. */
  static Map<Figure, Double> measure(String contender, String uri, String name) throws Exception {
    OtherProcess.Settings settings =
        new OtherProcess.Settings(
            Harness.at(uri), uri, LockOptions.defaults(), List.of(), /* trace= */ false);
    try (OtherProcess holder = OtherProcess.start(settings);
        Locking waiter = open(contender, uri)) {
      holder.call(ACQUIRE_TIMEOUT, Hold.class, contender, uri, name);
      CompletableFuture<Long> granted = new CompletableFuture<>();
      Thread waiting = new Thread(() -> await(waiter, name, granted), "waiter");
      waiting.start();
      // Until the waiter is in the queue and has kept its session alive.
      Thread.sleep(SESSION_TIMEOUT.toMillis() / 2);
      if (granted.isDone()) {
        throw new IllegalStateException("the holder lost the lock before it was killed");
      }
      long killed = System.nanoTime();
      holder.kill();
      return Map.of(Figure.TAKEOVER, (granted.get() - killed) / 1e9);
    }
  }

  private static void await(Locking waiter, String name, CompletableFuture<Long> granted) {
    try (AutoCloseable lease = waiter.acquire(name, ACQUIRE_TIMEOUT).orElseThrow()) {
      granted.complete(System.nanoTime());
    } catch (Exception e) {
      granted.completeExceptionally(e);
    }
  }

  private static Locking open(String contender, String uri) throws InterruptedException {
    return contender.equals(Competitor.OURS)
        ? Locking.locks(
            LockClient.open(uri + "?sessionTimeout=" + SESSION_TIMEOUT.toSeconds() + "s"))
        : OtherLocks.mutexes(uri, SESSION_TIMEOUT);
  }

  /** Takes a contender, a URI and a name; holds the lock until the process ends. */
  static final class Hold implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Locking holder = open(arguments.get(0), arguments.get(1));
      return holder.acquire(arguments.get(2), ACQUIRE_TIMEOUT).map(lease -> "held").orElseThrow();
    }
  }
}
