package dev.interlock.cli;

import java.util.logging.LogManager;

/**
 * Turns the log off unless the user asks for it: the commands themselves write what a user must
 * know. Call it before anything is logged, because the logger reads its settings once.
 */
final class Logging {
  private static final String SETTING = "org.slf4j.simpleLogger.";

  private Logging() {}

  static void configure(boolean debug) {
    String wanted = System.getenv("INTERLOCK_LOG");
    if (wanted == null && debug) {
      wanted = "debug";
    }
    // Drivers log every failed connection as an error, with its stack trace.
    set("defaultLogLevel", wanted == null ? "off" : wanted);
    set("log.dev.interlock", wanted == null ? "error" : wanted);
    set("showDateTime", "true");
    set("dateTimeFormat", "HH:mm:ss.SSS");
    set("showShortLogName", "true");
    if (wanted == null) { // gRPC has its own log, which goes to stderr by default
      LogManager.getLogManager().reset();
    }
  }

  /** Sets a property that the JVM's command line does not give. */
  private static void set(String name, String value) {
    System.getProperties().putIfAbsent(SETTING + name, value);
  }
}
