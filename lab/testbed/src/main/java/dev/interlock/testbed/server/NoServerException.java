package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;

/**
 * No server is available: the message lists each way that was tried and why it did not serve. What
 * the failed starts threw is attached as suppressed exceptions.
 */
public final class NoServerException extends TestbedException {
  private static final long serialVersionUID = 1L;

  NoServerException(String message) {
    super(message);
  }
}
