package dev.interlock.testbed;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for what has no event to wait for: the state of a server, or of the JVM's threads. */
public final class Eventually {

  /** Only so that a test ends that would not: far above what a busy machine needs. */
  public static final Duration LIMIT = Duration.ofSeconds(60);

  private Eventually() {}

  /**
   * Returns when a condition holds. Asks every few milliseconds, on the calling thread.
   *
   * @param what the condition, for the message
   * @param condition asked until it holds
   * @throws AssertionError if it does not hold within {@link #LIMIT}
   * @throws InterruptedException if the thread is interrupted between two questions
   * @throws Exception what the condition throws
   */
  public static void holds(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("not within " + LIMIT.toSeconds() + " s: " + what);
      }
      Thread.sleep(5);
    }
  }
}
