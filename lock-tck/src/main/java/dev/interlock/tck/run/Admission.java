package dev.interlock.tck.run;

/**
 * Limits the number of tests that run at once, so that on a slow machine they do not slow down each
 * other as well. Thread-safe.
 */
public final class Admission {
  /** Up to this slowdown, all tests that JUnit runs at once may run. */
  private static final double FULL_SPEED = 3;

  private static final int MAX_TESTS = 16;

  private int tests;

  /**
   * Waits until another test may run.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public synchronized void enter() throws InterruptedException {
    while (tests >= maxTests()) {
      wait(100); // the machine may become faster
    }
    tests++;
  }

  /** Ends a test that has entered. */
  public synchronized void leave() {
    tests--;
    notifyAll();
  }

  private static int maxTests() {
    double slowdown = Math.max(FULL_SPEED, Pulse.ofThisJvm().slowdown());
    return Math.max(1, (int) (MAX_TESTS * FULL_SPEED / slowdown));
  }
}
