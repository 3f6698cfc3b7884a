package dev.interlock.testbed;

/** A server found its port taken by another program; with other ports it may start. */
final class BindConflictException extends TestbedException {
  private static final long serialVersionUID = 1L;

  BindConflictException(String message) {
    super(message);
  }
}
