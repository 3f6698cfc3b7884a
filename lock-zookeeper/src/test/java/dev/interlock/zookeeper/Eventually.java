package dev.interlock.zookeeper;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for what has no event to wait for: the state of a server, or of the JVM's threads. */
final class Eventually {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  private Eventually() {}

  /** Returns when the condition holds, and fails if it does not within a minute. */
  static void holds(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("not within " + LIMIT.toSeconds() + " s: " + what);
      }
      Thread.sleep(5);
    }
  }
}
