package dev.interlock.tck.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Stops, continues and kills processes, and waits until the operating system shows the effect, in
 * Linux's {@code /proc}. On other systems it waits only for the end of a killed process.
 */
public final class ProcessSignals {
  private static final Duration SIGNAL_TIMEOUT = Duration.ofSeconds(20);
  private static final Path PROC = Path.of("/proc");

  private ProcessSignals() {}

  /** {@return whether this system shows that a process is stopped: true on Linux} */
  public static boolean supported() {
    return Files.isDirectory(PROC.resolve("self"));
  }

  /**
   * Stops a process (SIGSTOP).
   *
   * @param process the process
   * @throws IOException if it cannot be stopped
   * @throws InterruptedException if the thread is interrupted
   */
  public static void stop(ProcessHandle process) throws IOException, InterruptedException {
    signal(process, "STOP");
    awaitStopped(process, true);
  }

  /**
   * Continues a stopped process (SIGCONT).
   *
   * @param process the process
   * @throws IOException if it cannot be continued
   * @throws InterruptedException if the thread is interrupted
   */
  public static void resume(ProcessHandle process) throws IOException, InterruptedException {
    signal(process, "CONT");
    awaitStopped(process, false);
  }

  /**
   * Kills a process (SIGKILL), stopped or not, and waits for its end. Does nothing if it has ended.
   *
   * @param process the process
   */
  public static void kill(ProcessHandle process) {
    process.destroyForcibly();
    // Polls, since onExit() needs a thread of the JVM's common pool.
    long end = System.nanoTime() + SIGNAL_TIMEOUT.toNanos();
    while (process.isAlive()) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("process " + process.pid() + " did not end after SIGKILL");
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static void signal(ProcessHandle process, String name)
      throws IOException, InterruptedException {
    if (!process.isAlive()) { // its number may already belong to another process
      throw new IOException("process " + process.pid() + " has ended");
    }
    // the shell's built-in kill, since minimal systems lack the program
    Process kill =
        new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid())
            .redirectErrorStream(true)
            .start();
    String output = new String(kill.getInputStream().readAllBytes(), UTF_8);
    if (kill.waitFor() != 0) {
      throw new IOException(
          "cannot send SIG" + name + " to process " + process.pid() + ": " + output);
    }
  }

  /** Waits until every thread of the process is stopped, or is not. */
  private static void awaitStopped(ProcessHandle process, boolean stopped)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + SIGNAL_TIMEOUT.toNanos();
    while (!allThreads(process.pid(), stopped)) {
      if (System.nanoTime() - end > 0) {
        throw new IOException(
            "process "
                + process.pid()
                + " did not "
                + (stopped ? "stop after SIGSTOP" : "continue after SIGCONT"));
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  /**
   * {@return whether all threads of a process are stopped; true where the system does not show it}
   *
   * @param pid the process's number
   * @throws IOException if there is no such process
   */
  public static boolean isStopped(long pid) throws IOException {
    return allThreads(pid, true);
  }

  private static boolean allThreads(long pid, boolean stopped) throws IOException {
    if (!supported()) {
      return true;
    }
    try (var tasks = Files.newDirectoryStream(PROC.resolve(pid + "/task"))) {
      for (Path task : tasks) {
        if (isStopped(task.resolve("stat")) != stopped) {
          return false;
        }
      }
      return true;
    }
  }

  private static boolean isStopped(Path stat) throws IOException {
    try {
      String line = Files.readString(stat);
      // the state follows the name, which is in parentheses and may contain any character
      return line.charAt(line.lastIndexOf(')') + 2) == 'T';
    } catch (IOException e) {
      // a thread that has just ended has no file, or an empty one
      if (Files.exists(stat)) {
        throw e;
      }
      return false;
    }
  }
}
