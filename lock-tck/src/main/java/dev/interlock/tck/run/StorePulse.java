package dev.interlock.tck.run;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Measures how long the store takes for a request that no test has anything to do with: four times
 * a second, a client of its own acquires and releases a lock. Thread-safe.
 */
final class StorePulse implements AutoCloseable {
  private static final Duration PERIOD = Duration.ofMillis(250);
  private static final Duration MIN_STANDSTILL = Duration.ofMillis(500);
  private static final Duration MAX_WARM_UP = Duration.ofMinutes(1);

  private record Standstill(long end, long nanos) {}

  private final Queue<Standstill> standstills = new ConcurrentLinkedQueue<>();
  private final CountDownLatch warm = new CountDownLatch(1);
  private final LockClient client;
  private final Thread thread;

  /** The start of a request in progress, or of the pause after the last one. */
  private volatile long start = System.nanoTime();

  /**
   * Waits until the classes of the client are loaded and the store answers quickly, for at most a
   * minute, and starts measuring.
   *
   * @param client a client of the store, which closes with this
   * @param name the name of a lock that nobody else uses
   */
  StorePulse(LockClient client, String name) {
    this.client = client;
    this.thread = new Thread(() -> measure(name), "tck-store-pulse");
    thread.setDaemon(true);
    thread.start();
    try {
      boolean unused = warm.await(MAX_WARM_UP.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void measure(String name) {
    try {
      for (int fast = 0; fast < 3; ) {
        fast = request(name) < MIN_STANDSTILL.toNanos() ? fast + 1 : 0;
      }
      warm.countDown();
      while (true) {
        Thread.sleep(PERIOD.toMillis());
        long took = request(name);
        start = System.nanoTime();
        if (took > MIN_STANDSTILL.toNanos()) {
          standstills.add(new Standstill(start, took));
        }
      }
    } catch (InterruptedException | RuntimeException e) {
      warm.countDown(); // closed, or a lock that cannot be measured
    }
  }

  /** {@return the time that the store took} */
  private long request(String name) {
    start = System.nanoTime();
    try {
      client.lock(name).tryAcquire().ifPresent(Lease::release);
    } catch (LockException e) {
      // also takes its time
    }
    return System.nanoTime() - start;
  }

  /**
   * {@return the longest time since then that the store took for a request, if it stood still}
   *
   * @param time a value of {@link System#nanoTime}
   */
  Optional<String> standstillSince(long time) {
    long longest = System.nanoTime() - start - PERIOD.toNanos();
    if (!thread.isAlive()) {
      longest = 0;
    }
    for (Standstill standstill : standstills) {
      if (standstill.end - time > 0) {
        longest = Math.max(longest, standstill.nanos);
      }
    }
    return longest > MIN_STANDSTILL.toNanos()
        ? Optional.of(
            String.format(
                Locale.ROOT, "the store took %.1f s for a request of the kit's own", longest / 1e9))
        : Optional.empty();
  }

  @Override
  public void close() {
    thread.interrupt();
    client.close();
  }
}
