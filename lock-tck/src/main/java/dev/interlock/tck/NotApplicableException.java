package dev.interlock.tck;

import org.opentest4j.TestAbortedException;

/** A test is about something that the backend does not have. */
public final class NotApplicableException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Says what the backend does not have.
   *
   * @param reason what it does not have, and where it says so
   */
  public NotApplicableException(String reason) {
    super(reason);
  }
}
