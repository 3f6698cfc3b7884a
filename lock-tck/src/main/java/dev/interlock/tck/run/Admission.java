package dev.interlock.tck.run;

/**
 * Limits the number of tests that run at once: by the connections that the store allows, and on a
 * slow machine, so that the tests do not slow down each other as well. Thread-safe.
 */
final class Admission {
  /** The fewest connections with which every test can run. */
  static final int MIN_CONNECTIONS = 60;

  /** Up to this slowdown, all tests that JUnit runs at once may run. */
  private static final double FULL_SPEED = 3;

  /** Of the tests with so many, only one runs at a time. */
  private static final int CONNECTIONS_OF_ONE_TEST = 40;

  private static final int CONNECTIONS_PER_FURTHER_TEST = 4;

  private final int maxTests;
  private int tests;

  /**
   * Creates a limit.
   *
   * @param maxConnections the connections that the store allows
   * @throws IllegalArgumentException if these are too few
   */
  Admission(int maxConnections) {
    checkConnections(maxConnections);
    maxTests = 1 + (maxConnections - CONNECTIONS_OF_ONE_TEST) / CONNECTIONS_PER_FURTHER_TEST;
  }

  static void checkConnections(int max) {
    if (max < MIN_CONNECTIONS) {
      throw new IllegalArgumentException(
          max + " connections are too few: the kit needs at least " + MIN_CONNECTIONS);
    }
  }

  /**
   * Waits until another test may run.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  synchronized void enter() throws InterruptedException {
    while (tests >= maxTests(Pulse.ofThisJvm().slowdown())) {
      wait(100); // the machine may become faster
    }
    tests++;
  }

  /** Ends a test that has entered. */
  synchronized void leave() {
    tests--;
    notifyAll();
  }

  /**
   * {@return how many tests may run at once, at least one}
   *
   * @param slowdown that of the machine
   */
  int maxTests(double slowdown) {
    return Math.max(1, (int) (maxTests * FULL_SPEED / Math.max(FULL_SPEED, slowdown)));
  }
}
