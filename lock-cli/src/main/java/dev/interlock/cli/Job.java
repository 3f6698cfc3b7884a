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
 * <p>The members are found in two ways, because neither is enough alone: as descendants of the
 * child while the processes in between are alive, and on Linux by a variable that every process
 * inherits with the child's environment, even if its parent has ended. Only a process that has
 * cleared its environment <em>and</em> lost its parent escapes.
 *
 * <p>The child shares the caller's terminal, standard streams, working directory and process group,
 * so that an interactive program works as if the caller had started it directly.
 */
final class Job {
  /** The variable that marks the members; its value is unique to the job. */
  static final String MARK = "INTERLOCK_EXEC";

  private static final long POLL_INTERVAL_MILLIS = 50;

  private final Process child;
  private final String mark;
  private final Consumer<String> report;

  /** Whether a signal was sent; it also applies to processes that outlive the child. */
  private volatile boolean signalSent;

  @GuardedBy("this")
  private final Set<ProcessHandle> members = new LinkedHashSet<>();

  private Job(Process child, String mark, Consumer<String> report) {
    this.child = child;
    this.mark = mark;
    this.report = report;
  }

  /**
   * Starts the child.
   *
   * @param environment the variables to add to this process's environment
   * @param unset the variables to remove from it
   * @param report receives lines for the user
   * @param process starts the child
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

  /** {@return the exit code of the child, which must have ended; 128 + n if signal n ended it} */
  int exitCode() {
    return child.exitValue();
  }

  /** {@return the members that are alive, the child first} */
  synchronized List<ProcessHandle> alive() {
    if (child.isAlive()) {
      members.add(child.toHandle());
      members.addAll(child.descendants().toList());
    }
    members.addAll(marked());
    members.removeIf(process -> !isAlive(process));
    return new ArrayList<>(members);
  }

  private List<ProcessHandle> marked() {
    return Procfs.startedWith(mark).stream().filter(Job::isAlive).toList();
  }

  /**
   * Returns the processes that have outlived the child. Scans until two scans agree: a process in
   * the middle of exec(2) shows no variables at all, and one before exec(2) shows those of its
   * parent, even if it is about to drop them.
   */
  private List<ProcessHandle> survivors() {
    List<ProcessHandle> previous;
    List<ProcessHandle> current = marked();
    do {
      previous = current;
      pause();
      current = marked();
    } while (current.isEmpty() != previous.isEmpty());
    return current;
  }

  private boolean isMember(ProcessHandle process) {
    return isAlive(process) && Procfs.wasStartedWith(process, mark);
  }

  private static boolean isAlive(ProcessHandle process) {
    // Orphans remain zombies where no init process reaps them, as in many containers.
    return process.isAlive() && !Procfs.isZombie(process);
  }

  /**
   * Waits until all members have ended or the lease is lost.
   *
   * @return whether all members have ended
   */
  boolean awaitEnd(CompletableFuture<?> loss) {
    CompletableFuture.anyOf(child.onExit(), loss).join();
    if (child.isAlive()) {
      return false;
    }
    List<ProcessHandle> survivors = survivors();
    if (!survivors.isEmpty() && !loss.isDone()) {
      report.accept(
          "the command has ended and left processes "
              + pids(survivors)
              + " behind; the lock is kept until they end");
      if (signalSent) {
        survivors.forEach(ProcessHandle::destroy);
      }
    }
    while (!survivors.isEmpty() && !loss.isDone()) {
      pause();
      if (survivors.stream().noneMatch(this::isMember)) {
        survivors = survivors();
      }
    }
    return survivors.isEmpty();
  }

  /**
   * Ends all members: sends SIGTERM, and after the grace period SIGKILL to those that are still
   * alive. Returns when all have ended.
   *
   * <p>Members started during the grace period get no SIGTERM: the others may have started them to
   * clean up.
   */
  void stop(Duration grace) {
    long start = System.nanoTime();
    Set<ProcessHandle> killed = new HashSet<>();
    List<ProcessHandle> remaining = alive();
    remaining.forEach(ProcessHandle::destroy);
    while (!remaining.isEmpty()) {
      if (System.nanoTime() - start >= grace.toNanos()) {
        remaining.stream().filter(killed::add).forEach(this::kill);
      }
      pause();
      remaining = alive();
      if (remaining.isEmpty()) {
        remaining = survivors(); // those that were in the middle of exec
      }
    }
  }

  private void kill(ProcessHandle process) {
    boolean sent = process.destroyForcibly();
    if (!sent && isAlive(process)) {
      report.accept("process " + process.pid() + " cannot be killed; waiting for it to end");
    } else if (sent) {
      report.accept("process " + process.pid() + " did not end in time and was killed");
    }
  }

  /** Passes on a signal, unless the terminal has sent it to the job as well. */
  void signal(TerminationSignal signal) {
    boolean typedAtTerminal = signal == TerminationSignal.INT && Procfs.inForeground();
    if (!typedAtTerminal || !child.isAlive()) {
      send(signal);
    }
  }

  /**
   * Sends a signal to the child. If the child has ended, sends SIGTERM to the processes that it
   * left behind, because background processes often ignore the other signals.
   */
  void send(TerminationSignal signal) {
    signalSent = true;
    if (!child.isAlive()) {
      alive().forEach(ProcessHandle::destroy);
    } else if (signal == TerminationSignal.TERM) {
      child.toHandle().destroy(); // Process.destroy() would also close the streams
    } else {
      // Java can send no other signals; kill is built into every shell.
      try {
        new ProcessBuilder(
                "/bin/sh", "-c", "kill -s \"$0\" \"$1\"", signal.name(), Long.toString(child.pid()))
            .start();
      } catch (IOException e) {
        report.accept("could not pass on signal " + signal + ": " + e.getMessage());
      }
    }
  }

  private static String pids(List<ProcessHandle> processes) {
    return processes.stream()
        .map(process -> Long.toString(process.pid()))
        .collect(Collectors.joining(", "));
  }

  /** Waits and ignores interrupts: the caller must not continue while a member is alive. */
  private static void pause() {
    new CompletableFuture<@Nullable Void>()
        .completeOnTimeout(null, POLL_INTERVAL_MILLIS, TimeUnit.MILLISECONDS)
        .join();
  }
}
