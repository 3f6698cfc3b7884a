package dev.interlock.tck.run;

import org.opentest4j.TestAbortedException;

/** Thrown by a test of a feature that the backend does not have. */
public final class NotApplicableException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Aborts the test.
   *
   * @param reason what the backend does not have, and where it declares so
   */
  public NotApplicableException(String reason) {
    super(reason);
  }
}
