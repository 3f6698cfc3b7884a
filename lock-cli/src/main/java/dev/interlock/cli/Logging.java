package dev.interlock.cli;

import java.util.logging.LogManager;

/**
 * Quiet unless asked: what a user has to know, the commands say themselves. To be called before
 * anything is logged, because the logger reads its settings once.
 */
final class Logging {
  private static final String SETTING = "org.slf4j.simpleLogger.";

  private Logging() {}

  static void configure(boolean debug) {
    String wanted = System.getenv("INTERLOCK_LOG");
    if (wanted == null && debug) {
      wanted = "debug";
    }
    // Drivers report every failed connection as an error of their own, with its stack trace.
    set("defaultLogLevel", wanted == null ? "off" : wanted);
    set("log.dev.interlock", wanted == null ? "error" : wanted);
    set("showDateTime", "true");
    set("dateTimeFormat", "HH:mm:ss.SSS");
    set("showShortLogName", "true");
    if (wanted == null) { // gRPC has a log of its own, which goes to stderr unless told otherwise
      LogManager.getLogManager().reset();
    }
  }

  /** Leaves alone what is given on the JVM's command line. */
  private static void set(String name, String value) {
    System.getProperties().putIfAbsent(SETTING + name, value);
  }
}
