package dev.interlock.tck.process;

import java.util.logging.ConsoleHandler;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.helpers.BasicMDCAdapter;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Logging of the other JVMs: to standard error, which the test can read, whatever logging library
 * is on the class path. It logs warnings and errors, or everything if a test requests it.
 */
final class StderrLogger extends LegacyAbstractLogger {
  /** System property: whether everything is logged. */
  static final String TRACE = "interlock.tck.trace";

  private static final long serialVersionUID = 1L;

  private final boolean trace = Boolean.getBoolean(TRACE);

  private StderrLogger(String name) {
    this.name = name;
  }

  /** Also logs everything from drivers that use the JDK's logging. */
  static void traceJavaLogging() {
    java.util.logging.Logger root = java.util.logging.Logger.getLogger("");
    root.setLevel(Level.ALL);
    ConsoleHandler handler = new ConsoleHandler();
    handler.setLevel(Level.ALL);
    root.addHandler(handler);
  }

  @Override
  public boolean isTraceEnabled() {
    return trace;
  }

  @Override
  public boolean isDebugEnabled() {
    return trace;
  }

  @Override
  public boolean isInfoEnabled() {
    return trace;
  }

  @Override
  public boolean isWarnEnabled() {
    return true;
  }

  @Override
  public boolean isErrorEnabled() {
    return true;
  }

  @Override
  protected @Nullable String getFullyQualifiedCallerName() {
    return null;
  }

  @Override
  protected void handleNormalizedLoggingCall(
      org.slf4j.event.Level level,
      @Nullable Marker marker,
      String message,
      Object @Nullable [] arguments,
      @Nullable Throwable cause) {
    String text = MessageFormatter.basicArrayFormat(message, arguments);
    synchronized (System.err) {
      System.err.println(level + " " + getName() + " " + text);
      if (cause != null) {
        cause.printStackTrace();
      }
    }
  }

  /** Public because slf4j finds it by name, through the property {@code slf4j.provider}. */
  public static final class Provider implements SLF4JServiceProvider {
    private final IMarkerFactory markers = new BasicMarkerFactory();
    private final MDCAdapter context = new BasicMDCAdapter();

    @Override
    public ILoggerFactory getLoggerFactory() {
      return StderrLogger::of;
    }

    @Override
    public IMarkerFactory getMarkerFactory() {
      return markers;
    }

    @Override
    public MDCAdapter getMDCAdapter() {
      return context;
    }

    @Override
    public String getRequestedApiVersion() {
      return "2.0.99";
    }

    @Override
    public void initialize() {}
  }

  private static Logger of(String name) {
    return new StderrLogger(name);
  }
}
