package dev.interlock.compare;

import dev.interlock.LockClient;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** How soon a waiter has the lock of a process that was killed, with the same session time-out. */
final class ZooKeeperTakeover {

  /** Shorter than either asks for by default, so that the difference is not lost in it. */
  private static final Duration SESSION = Duration.ofSeconds(3);

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private ZooKeeperTakeover() {}

  /** Lets a new virtual machine take a lock, waits for it, and kills the virtual machine. */
  static Map<Figure, Double> measure(String contender, String uri, String name) throws Exception {
    Process holder =
        FreshJvm.of(ZooKeeperTakeover.class, contender, uri, name)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (Locking waiter = open(contender, uri)) {
      if (holder.getInputStream().read() < 0) {
        throw new IOException("the holder ended");
      }
      CompletableFuture<Long> granted = new CompletableFuture<>();
      Thread waiting = new Thread(() -> await(waiter, name, granted), "waiter");
      waiting.start();
      // Long enough to be in the queue, and for a session to be kept alive.
      Thread.sleep(SESSION.toMillis() / 2);
      if (granted.isDone()) {
        throw new IllegalStateException("the holder lost the lock before it was killed");
      }
      long killed = System.nanoTime();
      holder.destroyForcibly();
      return Map.of(Figure.TAKEOVER, (granted.get() - killed) / 1e9);
    } finally {
      holder.destroyForcibly();
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

  /**
   * In the new process: takes a contender, a URI and a name; prints a line when it has the lock.
   */
  public static void main(String[] arguments) throws Exception {
    try (Locking holder = open(arguments[0], arguments[1]);
        AutoCloseable lease = holder.acquire(arguments[2], PATIENCE).orElseThrow()) {
      System.out.println("held");
      Thread.sleep(PATIENCE.toMillis());
    }
  }
}
