package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;

/** A server found its port taken by another program; with other ports it may start. */
public final class BindConflictException extends TestbedException {
  private static final long serialVersionUID = 1L;

  public BindConflictException(String message) {
    super(message);
  }
}
