package dev.interlock.tck.run;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Measures how long the store takes for a request that no test has anything to do with: four times
 * a second, a client of its own acquires and releases a lock. Thread-safe.
 */
final class StorePulse implements AutoCloseable {
  private static final Duration PERIOD = Duration.ofMillis(250);
  private static final Duration MIN_STANDSTILL = Duration.ofMillis(500);

  private record Standstill(long end, long nanos) {}

  private final Queue<Standstill> standstills = new ConcurrentLinkedQueue<>();
  private final LockClient client;
  private final Thread thread;

  /** The start of a request in progress, or of the pause after the last one. */
  private volatile long start = System.nanoTime();

  /**
   * Starts measuring.
   *
   * @param client a client of the store, which closes with this
   * @param name the name of a lock that nobody else uses
   */
  StorePulse(LockClient client, String name) {
    this.client = client;
    this.thread = new Thread(() -> beat(name), "tck-store-pulse");
    thread.setDaemon(true);
    thread.start();
  }

  private void beat(String name) {
    try {
      while (true) {
        Thread.sleep(PERIOD.toMillis());
        start = System.nanoTime();
        try {
          client.lock(name).tryAcquire().ifPresent(Lease::release);
        } catch (LockException e) {
          // also takes its time
        }
        long end = System.nanoTime();
        if (end - start > MIN_STANDSTILL.toNanos()) {
          standstills.add(new Standstill(end, end - start));
        }
        start = end;
      }
    } catch (InterruptedException | RuntimeException e) {
      // closed, or a lock that cannot be measured
    }
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
