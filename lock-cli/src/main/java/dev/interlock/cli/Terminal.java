package dev.interlock.cli;

import java.io.Console;

/** The terminal of the output, if there is one. */
final class Terminal {
  private Terminal() {}

  /** Whether the output goes to a terminal. Since JDK 22 a console need not be one. */
  @SuppressWarnings("SystemConsoleNull") // asked in the newer way where there is one
  static boolean isOne() {
    Console console = System.console();
    if (console == null) {
      return false;
    }
    try {
      return (boolean) Console.class.getMethod("isTerminal").invoke(console);
    } catch (ReflectiveOperationException e) {
      return true;
    }
  }
}
