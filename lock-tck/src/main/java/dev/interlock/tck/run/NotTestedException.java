package dev.interlock.tck.run;

import org.opentest4j.TestAbortedException;

/** Thrown by a test that applies to the backend, but cannot run in this environment. */
public final class NotTestedException extends TestAbortedException {
  private static final long serialVersionUID = 1L;

  /**
   * Aborts the test.
   *
   * @param reason the missing condition, and how to provide it
   */
  public NotTestedException(String reason) {
    super(reason);
  }
}
