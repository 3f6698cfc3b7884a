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

/** How soon a waiter has the lock of a process that was killed, with the same session time-out. */
final class ZooKeeperTakeover {

  /** Shorter than either asks for by default, so that the difference is not lost in it. */
  private static final Duration SESSION = Duration.ofSeconds(3);

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private ZooKeeperTakeover() {}

  /** Lets another process take a lock, waits for it, and kills the process. */
  static Map<Figure, Double> measure(String contender, String uri, String name) throws Exception {
    OtherProcess.Settings settings =
        new OtherProcess.Settings(
            Harness.at(uri), uri, LockOptions.defaults(), List.of(), /* trace= */ false);
    try (OtherProcess holder = OtherProcess.start(settings);
        Locking waiter = open(contender, uri)) {
      holder.call(PATIENCE, Hold.class, contender, uri, name);
      CompletableFuture<Long> granted = new CompletableFuture<>();
      Thread waiting = new Thread(() -> await(waiter, name, granted), "waiter");
      waiting.start();
      // Long enough to be in the queue, and for a session to be kept alive.
      Thread.sleep(SESSION.toMillis() / 2);
      if (granted.isDone()) {
        throw new IllegalStateException("the holder lost the lock before it was killed");
      }
      long killed = System.nanoTime();
      holder.kill();
      return Map.of(Figure.TAKEOVER, (granted.get() - killed) / 1e9);
    }
  }

  private static void await(Locking waiter, String name, CompletableFuture<Long> granted) {
    try (AutoCloseable lease = waiter.acquire(name, PATIENCE).orElseThrow()) {
      granted.complete(System.nanoTime());
    } catch (Exception e) {
      granted.completeExceptionally(e);
    }
  }

  private static Locking open(String contender, String uri) throws InterruptedException {
    return contender.equals(Competitor.OURS)
        ? Locking.by(LockClient.open(uri + "?sessionTimeout=" + SESSION.toSeconds() + "s"))
        : OtherLocks.mutexes(uri, SESSION);
  }

  /** Takes a contender, a URI and a name, and holds the lock until its process ends. */
  static final class Hold implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Locking holder = open(arguments.get(0), arguments.get(1));
      return holder.acquire(arguments.get(2), PATIENCE).map(lease -> "held").orElseThrow();
    }
  }
}
