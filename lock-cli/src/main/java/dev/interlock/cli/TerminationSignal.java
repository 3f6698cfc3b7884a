package dev.interlock.cli;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;

/** The signals that ask a process to end; numbers as in POSIX. */
enum TerminationSignal {
  HUP(1),
  INT(2),
  TERM(15);

  private final int number;

  TerminationSignal(int number) {
    this.number = number;
  }

  /** {@return the exit code that a shell reports for a process that the signal ended} */
  int exitCode() {
    return ExitCode.SIGNALLED + number;
  }

  /**
   * Calls the handler for each of these signals from now on, in place of ending the JVM. A signal
   * that was ignored when the JVM started, as under nohup, stays ignored.
   *
   * <p>The handler runs on one of the JVM's threads. Java has no standard API for signals, but
   * every JDK has {@code sun.misc.Signal} in the module {@code jdk.unsupported}. It is loaded by
   * name here because javac's warning about it cannot be suppressed.
   */
  static void handle(Consumer<TerminationSignal> handler) {
    try {
      Class<?> signalType = Class.forName("sun.misc.Signal");
      Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
      Method handle = signalType.getMethod("handle", signalType, handlerType);
      for (TerminationSignal signal : values()) {
        Object proxy =
            Proxy.newProxyInstance(
                handlerType.getClassLoader(),
                new Class<?>[] {handlerType},
                (self, method, arguments) -> {
                  if (method.getDeclaringClass() != handlerType) { // hashCode, equals, toString
                    return method.invoke(handler, arguments);
                  }
                  handler.accept(signal);
                  return null;
                });
        handle.invoke(
            null, signalType.getConstructor(String.class).newInstance(signal.name()), proxy);
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this JVM does not support signal handlers", e);
    }
  }
}
