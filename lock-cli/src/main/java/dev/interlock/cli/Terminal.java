package dev.interlock.cli;

import java.io.Console;

/** Finds out whether the command writes to a terminal. */
final class Terminal {
  private Terminal() {}

  /**
   * {@return whether the output goes to a terminal} Since JDK 22 there may be a console without a
   * terminal, and {@code Console.isTerminal()} tells them apart.
   */
  @SuppressWarnings("SystemConsoleNull") // isTerminal() is called where it exists
  static boolean isOutput() {
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
