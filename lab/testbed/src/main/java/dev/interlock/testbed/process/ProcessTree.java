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
 * A process with those that it has started, as one server: PostgreSQL serves every connection by a
 * process of its own, which goes on when only the first one is stopped or killed.
 *
 * @param root the first one
 */
record ProcessTree(ProcessHandle root) {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  /**
   * Stops all of them, and returns when they stand still.
   *
   * @return those below the root
   */
  List<ProcessHandle> stop() throws IOException, InterruptedException {
    ProcessSignals.stop(root); // first: it starts no more of them
    List<ProcessHandle> below = below();
    signal("STOP", below);
    if (!Waiting.until(LIMIT, () -> below.stream().allMatch(each -> isIn("TZ", each)))) {
      throw new IOException("a process below " + root.pid() + " did not stop: " + below);
    }
    return below;
  }

  /** Lets all of them go on. */
  void resume() throws IOException, InterruptedException {
    signal("CONT", below());
    ProcessSignals.resume(root);
  }

  /** Kills all of them, and returns when they have gone. */
  void kill() throws IOException {
    List<ProcessHandle> below = List.of();
    if (root.children().findAny().isPresent()) {
      signal("STOP", List.of(root));
      below = below();
    }
    ProcessSignals.kill(root); // first: whoever adopts the others also clears them away
    below.forEach(ProcessHandle::destroyForcibly);
    for (ProcessHandle each : below) {
      Waiting.demandThat(LIMIT, "process " + each.pid() + " did not end", () -> isIn("Z", each));
    }
  }

  private List<ProcessHandle> below() {
    try (Stream<ProcessHandle> all = root.descendants()) {
      return all.toList();
    }
  }

  /** One that has ended meanwhile is passed over. */
  private static void signal(String name, List<ProcessHandle> processes) throws IOException {
    if (processes.isEmpty()) {
      return;
    }
    String numbers =
        processes.stream().map(each -> "" + each.pid()).collect(Collectors.joining(" "));
    // The shell's built-in kill: minimal systems lack the program.
    String kills = "for pid in " + numbers + "; do kill -" + name + " $pid; done";
    Process shell = new ProcessBuilder("sh", "-c", kills).redirectErrorStream(true).start();
    // Until it ends. Not onExit(), which needs a thread of the JVM's common pool.
    shell.getInputStream().transferTo(OutputStream.nullOutputStream());
  }

  /** Whether it has gone or is in one of these states of {@code /proc}, where there is that. */
  private static boolean isIn(String states, ProcessHandle process) {
    if (!ProcessSignals.supported()) {
      return states.contains("T") || !process.isAlive();
    }
    try {
      String line = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
      return states.indexOf(line.charAt(line.lastIndexOf(')') + 2)) >= 0;
    } catch (IOException gone) {
      return true;
    }
  }
}
