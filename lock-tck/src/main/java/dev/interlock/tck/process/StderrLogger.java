package dev.interlock.tck.process;

import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.ConsoleHandler;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOP_FallbackServiceProvider;

/**
 * Logs to standard error, which the parent of another JVM can read, whichever logging library is on
 * the class path.
 */
@SuppressWarnings("exports") // slf4j alone uses what it inherits.
public final class StderrLogger extends LegacyAbstractLogger {
  private static final String LEVEL = "interlock.tck.log";
  private static final Level MIN_LEVEL =
      Level.valueOf(System.getProperty(LEVEL, Level.WARN.name()));

  /** A delay of each record of Interlock's own loggers, as a slow disk would cause. */
  private static final long DELAY_MILLIS = Long.getLong("interlock.tck.log.delay", 0);

  private static final long serialVersionUID = 1L;

  private StderrLogger(String name) {
    this.name = name;
  }

  /**
   * {@return arguments that make a JVM log with this class}
   *
   * @param minLevel the lowest level that it logs
   */
  public static List<String> options(Level minLevel) {
    return List.of("-Dslf4j.provider=" + Provider.class.getName(), "-D" + LEVEL + "=" + minLevel);
  }

  /** Enables all records of the JDK's logging, which some drivers use, if the level is trace. */
  static void traceJavaLogging() {
    if (MIN_LEVEL != Level.TRACE) {
      return;
    }
    java.util.logging.Logger root = java.util.logging.Logger.getLogger("");
    root.setLevel(java.util.logging.Level.ALL);
    ConsoleHandler handler = new ConsoleHandler();
    handler.setLevel(java.util.logging.Level.ALL);
    root.addHandler(handler);
  }

  private static boolean logs(Level level) {
    return level.toInt() >= MIN_LEVEL.toInt();
  }

  @Override
  public boolean isTraceEnabled() {
    return logs(Level.TRACE);
  }

  @Override
  public boolean isDebugEnabled() {
    return logs(Level.DEBUG);
  }

  @Override
  public boolean isInfoEnabled() {
    return logs(Level.INFO);
  }

  @Override
  public boolean isWarnEnabled() {
    return logs(Level.WARN);
  }

  @Override
  public boolean isErrorEnabled() {
    return logs(Level.ERROR);
  }

  @Override
  protected @Nullable String getFullyQualifiedCallerName() {
    return null;
  }

  @Override
  protected void handleNormalizedLoggingCall(
      Level level,
      @Nullable Marker marker,
      String message,
      Object @Nullable [] arguments,
      @Nullable Throwable cause) {
    String text = MessageFormatter.basicArrayFormat(message, arguments);
    synchronized (System.err) {
      System.err.println(Instant.now() + " " + level + " " + getName() + " " + text);
      if (cause != null) {
        cause.printStackTrace();
      }
      if (getName().startsWith("dev.interlock.")) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(DELAY_MILLIS));
      }
    }
  }

  /** Public because slf4j finds it by name, through the property {@code slf4j.provider}. */
  public static final class Provider extends NOP_FallbackServiceProvider {
    /** For slf4j. */
    public Provider() {}

    @Override
    public ILoggerFactory getLoggerFactory() {
      return StderrLogger::new;
    }
  }
}
