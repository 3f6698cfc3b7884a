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
 * A run on a thread of this JVM, which costs a tenth of a process. Its children are real, but a
 * signal is a call of the command's handler. {@code --classpath} sets the context class loader of
 * this thread only, so nothing that a run sets up outlives it.
 */
final class LocalRun extends Run implements ProcessContext {
  private static final Duration END_TIMEOUT = Duration.ofMinutes(1);

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

  /** Starts a run; without an input, its children read the end of the input at once. */
  static LocalRun start(boolean hasInput, String... arguments) {
    LocalRun run = new LocalRun(hasInput, arguments);
    run.thread.start();
    return run;
  }

  @Override
  public void handleSignals(Consumer<TerminationSignal> newHandler) {
    boolean endedBefore;
    synchronized (this) {
      handler = Optional.of(newHandler);
      endedBefore = ended;
    }
    if (endedBefore) {
      newHandler.accept(TerminationSignal.TERM);
    }
  }

  /** Does nothing, because all tests share one log. */
  @Override
  public void configureLog(boolean debug) {}

  @Override
  public synchronized Process start(ProcessBuilder child) throws IOException {
    if (child.command().get(0).equals("sh")) {
      child.command(Interlock.receivingSignals(child.command()));
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
      current.ifPresent(consumer -> consumer.accept(TerminationSignal.TERM));
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
      thread.interrupt(); // ends a minimum hold, for instance
      if (System.nanoTime() - start > END_TIMEOUT.toNanos()) {
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
