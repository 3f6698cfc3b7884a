package dev.interlock.tck.run;

import org.opentest4j.AssertionFailedError;

/**
 * The failure of a check that a right backend passes only if the machine is fast enough. If the
 * machine was slow, the test has no verdict.
 */
public final class LateError extends AssertionFailedError {
  private static final long serialVersionUID = 1L;

  /**
   * Reports a failed check.
   *
   * @param message what was observed
   */
  public LateError(String message) {
    super(message);
  }
}
