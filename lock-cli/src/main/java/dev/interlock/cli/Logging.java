package dev.interlock.cli;

import java.util.logging.LogManager;

/**
 * Turns the log off unless the user asks for it, because commands print their own messages. This
 * must be called before anything is logged: the logger reads its settings once.
 */
final class Logging {
  private static final String PREFIX = "org.slf4j.simpleLogger.";

  private Logging() {}

  static void configure(boolean debug) {
    String level = System.getenv("INTERLOCK_LOG");
    if (level == null && debug) {
      level = "debug";
    }
    // Drivers log every failed connection as an error, with its stack trace.
    set("defaultLogLevel", level == null ? "off" : level);
    set("log.dev.interlock", level == null ? "error" : level);
    set("showDateTime", "true");
    set("dateTimeFormat", "HH:mm:ss.SSS");
    set("showShortLogName", "true");
    if (level == null) { // gRPC has its own log, which goes to stderr by default
      LogManager.getLogManager().reset();
    }
  }

  /** Sets a property unless the JVM's command line sets it. */
  private static void set(String name, String value) {
    System.getProperties().putIfAbsent(PREFIX + name, value);
  }
}
