package dev.interlock.testbed;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for a state without an event, such as that of a server or of the JVM's threads. */
public final class Eventually {

  /** Ends tests that would hang; much longer than any wait on a busy machine. */
  public static final Duration LIMIT = Duration.ofSeconds(60);

  private Eventually() {}

  /**
   * Polls until a condition holds, on the calling thread.
   *
   * @param what the condition, for the message
   * @param condition the condition
   * @throws AssertionError if it does not hold within {@link #LIMIT}
   * @throws InterruptedException if the thread is interrupted between two polls
   * @throws Exception as the condition does
   */
  public static void holds(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("this did not happen within " + LIMIT.toSeconds() + " s: " + what);
      }
      Thread.sleep(5);
    }
  }
}
