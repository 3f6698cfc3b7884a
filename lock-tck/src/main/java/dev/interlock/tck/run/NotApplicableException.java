package dev.interlock.tck.run;

import org.opentest4j.TestAbortedException;

/** Thrown by a test that does not apply, since the backend lacks the feature under test. */
public final class NotApplicableException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Aborts the test.
   *
   * @param reason the missing feature, and where the backend declares it
   */
  public NotApplicableException(String reason) {
    super(reason);
  }
}
