package dev.interlock.testbed.process;

import dev.interlock.tck.process.ProcessSignals;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A process and its descendants, as one server. PostgreSQL, for example, has a process for every
 * connection, which continues when only the first process is stopped or killed.
 *
 * @param root the first process
 */
record ProcessTree(ProcessHandle root) {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  /** Linux's state of a process that has no entry any more. */
  private static final String ENDED = "X";

  /**
   * Stops all processes, and waits until they are stopped.
   *
   * @return the descendants of the root
   */
  List<ProcessHandle> stop() throws IOException, InterruptedException {
    ProcessSignals.stop(root); // first, so that it starts no further processes
    List<ProcessHandle> descendants = descendants();
    signal("STOP", descendants);
    if (!Waiting.until(TIMEOUT, () -> descendants.stream().allMatch(each -> isIn("TZ", each)))) {
      throw new IOException(
          "a descendant of process " + root.pid() + " did not stop: " + descendants);
    }
    return descendants;
  }

  /** Continues all processes. */
  void resume() throws IOException, InterruptedException {
    signal("CONT", descendants());
    ProcessSignals.resume(root);
  }

  /** Kills all processes, and waits until they have ended. */
  void kill() throws IOException {
    List<ProcessHandle> descendants = List.of();
    if (root.isAlive() && root.children().findAny().isPresent()) {
      signal("STOP", List.of(root));
      descendants = descendants();
    }
    ProcessSignals.kill(root); // first, so that its children get a parent that reaps them
    descendants.forEach(ProcessHandle::destroyForcibly);
    for (ProcessHandle each : descendants) {
      Waiting.demandThat(TIMEOUT, "process " + each.pid() + " did not end", () -> isIn("Z", each));
    }
  }

  private List<ProcessHandle> descendants() {
    try (Stream<ProcessHandle> all = root.descendants()) {
      return all.toList();
    }
  }

  /** {@return the number and state of each process, as ps shows them, for example {@code 12 S}} */
  String states() {
    return Stream.concat(Stream.of(root), descendants().stream())
        .map(each -> each.pid() + " " + state(each))
        .collect(Collectors.joining(", "));
  }

  /**
   * Sends a signal to processes. Those that have ended are left out, since their numbers may belong
   * to others.
   */
  private static void signal(String name, List<ProcessHandle> processes) throws IOException {
    String numbers =
        processes.stream()
            .filter(ProcessHandle::isAlive)
            .map(each -> "" + each.pid())
            .collect(Collectors.joining(" "));
    // The shell's built-in kill, since minimal systems lack the program.
    String kills = "for pid in " + numbers + "; do kill -" + name + " $pid; done";
    Process shell = new ProcessBuilder("sh", "-c", kills).redirectErrorStream(true).start();
    // Waits for the end of the output, since onExit() needs a thread of the JVM's common pool.
    shell.getInputStream().transferTo(OutputStream.nullOutputStream());
  }

  /** {@return whether a process has ended or, on Linux, is in one of these states} */
  private static boolean isIn(String states, ProcessHandle process) {
    return ProcessSignals.supported()
        ? (states + ENDED).contains(state(process))
        : states.contains("T") || !process.isAlive();
  }

  private static String state(ProcessHandle process) {
    try {
      String line = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
      return String.valueOf(line.charAt(line.lastIndexOf(')') + 2));
    } catch (IOException gone) {
      return ENDED;
    }
  }
}
