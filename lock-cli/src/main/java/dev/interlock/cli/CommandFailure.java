package dev.interlock.cli;

import org.jspecify.annotations.Nullable;

/** Ends the command with an error line for the user and an exit code. */
final class CommandFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int exitCode;

  CommandFailure(int exitCode, String message) {
    this(exitCode, message, null);
  }

  CommandFailure(int exitCode, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  int exitCode() {
    return exitCode;
  }
}
