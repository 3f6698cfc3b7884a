package dev.interlock.tck.run;

import org.opentest4j.TestAbortedException;

/**
 * Thrown by a test that observed something that the backend may have done, or a machine that was
 * too slow.
 */
public final class NoVerdictException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Aborts the test.
   *
   * @param slowness what the machine did, in words
   * @param observed what the test observed
   */
  NoVerdictException(String slowness, Throwable observed) {
    super("no verdict, since " + slowness + ": " + TestResults.reason(observed), observed);
  }
}
