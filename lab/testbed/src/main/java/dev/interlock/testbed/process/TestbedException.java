package dev.interlock.testbed.process;

import org.jspecify.annotations.Nullable;

/**
 * A server did not do what the testbed asked of it: it did not come up, did not stop answering when
 * it was paused, did not elect a leader in time.
 */
public class TestbedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public TestbedException(String message) {
    super(message);
  }

  public TestbedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
