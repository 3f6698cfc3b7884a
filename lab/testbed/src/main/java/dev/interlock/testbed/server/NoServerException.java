package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;

/**
 * Thrown if no server is available. The message lists the sources that were tried, each with the
 * reason why it did not work. The exceptions of failed starts are suppressed exceptions of this
 * one.
 */
public final class NoServerException extends TestbedException {
  private static final long serialVersionUID = 1L;

  NoServerException(String message) {
    super(message);
  }
}
