package dev.interlock.cli;

import java.io.Console;

/** Where the output goes. */
final class Terminal {
  private Terminal() {}

  /** Whether somebody watches it. Since JDK 22 there is a console without a terminal, too. */
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
