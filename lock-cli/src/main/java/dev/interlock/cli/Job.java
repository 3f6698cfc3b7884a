package dev.interlock.cli;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A child process and the processes that it has started, which may outlive it.
 *
 * <p>Two ways find the members, because neither is enough: as descendants of the child while the
 * processes between are alive, and on Linux by a variable that every process inherits from the
 * child with its environment, also when its parent has ended. Only a process that has cleared its
 * environment <em>and</em> lost its parent escapes.
 *
 * <p>Terminal, standard input and output, working directory and process group are the caller's, so
 * that an interactive program works as it does without this one in between.
 */
final class Job {
  /** Marks the members; its value is unique to the job. */
  static final String MARK = "INTERLOCK_EXEC";

  private static final long POLL_INTERVAL_MILLIS = 50;

  private final Process child;
  private final String mark;
  private final Consumer<String> report;

  /** Whether a signal was passed on; it also applies to processes that outlive the child. */
  private volatile boolean asked;

  @GuardedBy("this")
  private final Set<ProcessHandle> known = new LinkedHashSet<>();

  private Job(Process child, String mark, Consumer<String> report) {
    this.child = child;
    this.mark = mark;
    this.report = report;
  }

  /**
   * Starts the child.
   *
   * @param environment what to set, on top of this process's own
   * @param unset what to leave out
   * @param report takes lines for the user
   * @param process starts it
   * @throws IOException if the program cannot be started
   */
  static Job start(
      List<String> command,
      Map<String, String> environment,
      Set<String> unset,
      Consumer<String> report,
      ProcessContext process)
      throws IOException {
    String id = UUID.randomUUID().toString();
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeAll(unset);
    builder.environment().putAll(environment);
    builder.environment().put(MARK, id);
    return new Job(process.start(builder), MARK + "=" + id, report);
  }

  /** Completes when the child itself has ended. */
  CompletableFuture<?> childEnded() {
    return child.onExit();
  }

  /** The exit code of the child, which must have ended; 128 + n if signal n ended it. */
  int exitCode() {
    return child.exitValue();
  }

  /** The members that are alive, the child first. */
  synchronized List<ProcessHandle> alive() {
    if (child.isAlive()) {
      known.add(child.toHandle());
      known.addAll(child.descendants().toList());
    }
    known.addAll(marked());
    known.removeIf(process -> !isAlive(process));
    return new ArrayList<>(known);
  }

  private List<ProcessHandle> marked() {
    return Procfs.startedWith(mark).stream().filter(Job::isAlive).toList();
  }

  /**
   * Returns the processes that have outlived the child. Looks until two looks agree: in the middle
   * of exec(2) a process shows no variables at all, and before it those of its parent, also if it
   * is about to drop them.
   */
  private List<ProcessHandle> leftBehind() {
    List<ProcessHandle> before;
    List<ProcessHandle> left = marked();
    do {
      before = left;
      pause();
      left = marked();
    } while (left.isEmpty() != before.isEmpty());
    return left;
  }

  private boolean isMember(ProcessHandle process) {
    return isAlive(process) && Procfs.wasStartedWith(process, mark);
  }

  private static boolean isAlive(ProcessHandle process) {
    // Orphans stay zombies where no init process reaps them, as in many containers.
    return process.isAlive() && !Procfs.isZombie(process);
  }

  /**
   * Waits until all members have ended, or the future completes.
   *
   * @return whether all have ended
   */
  boolean awaitEnd(CompletableFuture<?> orElse) {
    CompletableFuture.anyOf(child.onExit(), orElse).join();
    if (child.isAlive()) {
      return false;
    }
    List<ProcessHandle> left = leftBehind();
    if (!left.isEmpty() && !orElse.isDone()) {
      report.accept(
          "the command has ended and left processes "
              + pids(left)
              + " behind; the lock is kept until they end");
      if (asked) {
        left.forEach(ProcessHandle::destroy);
      }
    }
    while (!left.isEmpty() && !orElse.isDone()) {
      pause();
      if (left.stream().noneMatch(this::isMember)) {
        left = leftBehind();
      }
    }
    return left.isEmpty();
  }

  /**
   * Ends all members: SIGTERM, and SIGKILL for those that are alive after the grace. Returns when
   * all have ended.
   *
   * <p>Members that are started during the grace get no SIGTERM: they may be how the others clean
   * up.
   */
  void stop(Duration grace) {
    long start = System.nanoTime();
    Set<ProcessHandle> killed = new HashSet<>();
    List<ProcessHandle> left = alive();
    left.forEach(ProcessHandle::destroy);
    while (!left.isEmpty()) {
      if (System.nanoTime() - start >= grace.toNanos()) {
        left.stream().filter(killed::add).forEach(this::kill);
      }
      pause();
      left = alive();
      if (left.isEmpty()) {
        left = leftBehind(); // those that were in the middle of exec
      }
    }
  }

  private void kill(ProcessHandle process) {
    boolean sent = process.destroyForcibly();
    if (!sent && isAlive(process)) {
      report.accept("process " + process.pid() + " cannot be killed; waiting for its end");
    } else if (sent) {
      report.accept("process " + process.pid() + " did not end in time and was killed");
    }
  }

  /** Passes on a signal, unless the terminal has sent it to the job as well. */
  void signal(TerminationSignal signal) {
    boolean typed = signal == TerminationSignal.INT && Procfs.inForeground();
    if (!typed || !child.isAlive()) {
      send(signal);
    }
  }

  /**
   * Sends a signal to the child, or, when it has ended, SIGTERM to the processes that it left
   * behind: background processes often ignore the other signals.
   */
  void send(TerminationSignal signal) {
    asked = true;
    if (!child.isAlive()) {
      alive().forEach(ProcessHandle::destroy);
    } else if (signal == TerminationSignal.TERM) {
      child.toHandle().destroy(); // that of Process would close the streams as well
    } else {
      // Java sends no other signals; kill is built into every shell.
      try {
        new ProcessBuilder(
                "/bin/sh", "-c", "kill -s \"$0\" \"$1\"", signal.name(), Long.toString(child.pid()))
            .start();
      } catch (IOException e) {
        report.accept("signal " + signal + " could not be passed on: " + e.getMessage());
      }
    }
  }

  private static String pids(List<ProcessHandle> processes) {
    return processes.stream()
        .map(process -> Long.toString(process.pid()))
        .collect(Collectors.joining(", "));
  }

  /** Waits in spite of interrupts: the caller must not continue while a member is alive. */
  private static void pause() {
    new CompletableFuture<@Nullable Void>()
        .completeOnTimeout(null, POLL_INTERVAL_MILLIS, TimeUnit.MILLISECONDS)
        .join();
  }
}
