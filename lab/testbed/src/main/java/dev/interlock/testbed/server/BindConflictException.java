package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;

/** Thrown if another program uses a server's port. With other ports the server may start. */
public final class BindConflictException extends TestbedException {
  private static final long serialVersionUID = 1L;

  public BindConflictException(String message) {
    super(message);
  }
}
