package dev.interlock.cli;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A run on a thread of this JVM, which costs a tenth of a process. Its children are real, its
 * signals are calls of the command's handler. Nothing that it sets up outlives it: the context
 * class loader that {@code --classpath} sets is that of its thread.
 */
final class LocalRun extends Run implements ProcessContext {
  private static final Duration END_LIMIT = Duration.ofMinutes(1);

  private final boolean hasInput;
  private final Thread thread;
  private volatile int exitCode;

  @GuardedBy("this")
  private final List<Process> children = new ArrayList<>();

  @GuardedBy("this")
  private Optional<Consumer<TerminationSignal>> handler = Optional.empty();

  @GuardedBy("this")
  private boolean ended;

  private LocalRun(boolean hasInput, String[] arguments) {
    this.hasInput = hasInput;
    PrintWriter outWriter = new PrintWriter(out().writer(), true);
    PrintWriter errWriter = new PrintWriter(err().writer(), true);
    thread =
        new Thread(
            () -> {
              try (outWriter;
                  errWriter) {
                exitCode = Main.run(arguments, outWriter, errWriter, this);
              }
            },
            "main");
    thread.setDaemon(true);
  }

  /** Starts a run; without an input its children read the end of it at once. */
  static LocalRun start(boolean hasInput, String... arguments) {
    LocalRun run = new LocalRun(hasInput, arguments);
    run.thread.start();
    return run;
  }

  @Override
  public void handleSignals(Consumer<TerminationSignal> newHandler) {
    boolean late;
    synchronized (this) {
      handler = Optional.of(newHandler);
      late = ended;
    }
    if (late) {
      newHandler.accept(TerminationSignal.TERM);
    }
  }

  /** Leaves the log alone, which is that of all tests. */
  @Override
  public void configureLog(boolean debug) {}

  @Override
  public synchronized Process start(ProcessBuilder child) throws IOException {
    if (child.command().get(0).equals("sh")) {
      child.command(Interlock.heedingSignals(child.command()));
    }
    Process process = child.start();
    children.add(process);
    out().read(process.getInputStream(), "out of " + process.pid());
    err().read(process.getErrorStream(), "err of " + process.pid());
    if (!hasInput) {
      process.getOutputStream().close();
    }
    if (ended) {
      kill(process);
    }
    return process;
  }

  @Override
  long pid() {
    return ProcessHandle.current().pid();
  }

  @Override
  boolean isAlive() {
    return thread.isAlive();
  }

  @Override
  void signal(String name) {
    Optional<Consumer<TerminationSignal>> current;
    synchronized (this) {
      current = handler;
    }
    current.orElseThrow().accept(TerminationSignal.valueOf(name));
  }

  @Override
  synchronized OutputStream input() {
    return children.get(children.size() - 1).getOutputStream();
  }

  @Override
  OptionalInt exitCode(Duration limit) throws InterruptedException {
    thread.join(limit.toMillis());
    return thread.isAlive() ? OptionalInt.empty() : OptionalInt.of(exitCode);
  }

  @Override
  void end() {
    Optional<Consumer<TerminationSignal>> current;
    synchronized (this) {
      ended = true;
      current = handler;
    }
    if (thread.isAlive()) {
      current.ifPresent(handling -> handling.accept(TerminationSignal.TERM));
    }
    long start = System.nanoTime();
    while (thread.isAlive()) {
      killChildren();
      try {
        TimeUnit.MILLISECONDS.timedJoin(thread, 200);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      thread.interrupt(); // a hold for a minimum time, for instance
      if (System.nanoTime() - start > END_LIMIT.toNanos()) {
        AssertionError stuck = new AssertionError("the command does not end");
        stuck.setStackTrace(thread.getStackTrace());
        throw stuck;
      }
    }
    killChildren();
  }

  private synchronized void killChildren() {
    children.forEach(Run::kill);
  }
}
