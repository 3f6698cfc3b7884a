package dev.interlock.cli;

/**
 * The exit codes of the command, apart from 0 and that of a child. Codes from 64 up that BSD's
 * {@code sysexits.h} defines have the same meaning here.
 */
final class ExitCode {
  /** A part of the work could not be done; the output says which. */
  static final int PARTIAL = 1;

  /** The lock to release is not held. */
  static final int NOT_HELD = 1;

  /** A rule of the contract was broken; the output says which. */
  static final int BROKEN = 1;

  /** The command line, a URI or a setting is wrong; the same call can never succeed. */
  static final int USAGE = 2;

  /** The store cannot be reached, or cannot serve at the moment (EX_UNAVAILABLE). */
  static final int UNAVAILABLE = 69;

  /** A bug in this program (EX_SOFTWARE). */
  static final int INTERNAL = 70;

  /** The lock could not be acquired in time (EX_TEMPFAIL). */
  static final int NOT_ACQUIRED = 75;

  /** The lease was lost while the child ran. */
  static final int LOST = 76;

  /** The child's program exists but cannot be run, as in shells. */
  static final int NOT_EXECUTABLE = 126;

  /** The child's program does not exist, as in shells. */
  static final int NOT_FOUND = 127;

  /** Shells add this to the number of the signal that ended a process. */
  static final int SIGNALLED = 128;

  private ExitCode() {}
}
