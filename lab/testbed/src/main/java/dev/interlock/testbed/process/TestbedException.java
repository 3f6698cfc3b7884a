package dev.interlock.testbed.process;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if a server does not do what the testbed requests: it does not start, still answers while
 * it is paused, or elects no leader in time.
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
