package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs the command in this JVM, or in a process of its own where a test needs one. {@link #close()}
 * ends all runs and their children.
 */
final class Interlock implements AutoCloseable {

  /** The result of a run. */
  record Result(int exitCode, String out, String err) {

    /** Asserts that the run failed with this exit code and one error line that has this part. */
    void assertFailed(int expected, String part) {
      assertEquals(expected, exitCode, this::toString);
      assertEquals("", out);
      assertTrue(err.startsWith("interlock: "), err);
      assertTrue(err.contains(part), err);
      assertEquals(1, err.lines().count(), err);
    }

    /** Asserts that the run succeeded and wrote nothing to stderr. */
    @CanIgnoreReturnValue
    Result assertDone() {
      assertEquals(0, exitCode, this::toString);
      assertEquals("", err);
      return this;
    }
  }

  /** Resets the signals that a build under nohup, or in the background of a script, ignores. */
  private static final List<String> RESET_SIGNALS = List.of("env", "--default-signal=HUP,INT");

  /** Lets a program receive signals even if this JVM was started to ignore them. */
  static List<String> receivingSignals(List<String> command) throws IOException {
    List<String> receiving = new ArrayList<>(ignoresSignals() ? RESET_SIGNALS : List.of());
    receiving.addAll(command);
    return receiving;
  }

  private static boolean ignoresSignals() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.exists(status)) {
      return false;
    }
    try (Stream<String> lines = Files.lines(status)) {
      return lines
          .filter(line -> line.startsWith("SigIgn:"))
          .mapToLong(line -> Long.parseUnsignedLong(line.substring(7).strip(), 16))
          .anyMatch(ignored -> (ignored & 0b11) != 0);
    }
  }

  private final Queue<Run> started = new ConcurrentLinkedQueue<>();

  /** Adds a request time-out that outlasts the stalls of a busy machine. */
  static String withLongTimeout(String uri) {
    return uri + "?requestTimeout=30s";
  }

  /** {@return the command line of the command, with all backends of the build} */
  static List<String> commandLine(String... arguments) {
    return java(classPath(), Main.class.getName(), arguments);
  }

  /** {@return the command line of a Java program} */
  static List<String> java(String classPath, String mainClass, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
    // A command that runs the kit must wait as long as the tests do.
    String slack = System.getProperty("interlock.tck.slack");
    if (slack != null) {
      command.add("-Dinterlock.tck.slack=" + slack);
    }
    command.addAll(List.of("-cp", classPath, mainClass));
    command.addAll(List.of(arguments));
    return command;
  }

  /** {@return the class path without the test classes, which have backends of their own} */
  static String classPath() {
    String path =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return Arrays.stream(path.split(File.pathSeparator))
        .filter(entry -> !entry.endsWith("test-classes") && !entry.endsWith("test-classes/"))
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Starts the command in this JVM. */
  Run start(String... arguments) {
    return register(LocalRun.start(/* hasInput= */ true, arguments));
  }

  /** Runs the command in this JVM, without an input. */
  Result run(String... arguments) throws InterruptedException {
    return register(LocalRun.start(/* hasInput= */ false, arguments)).await();
  }

  /** Starts the command in a process of its own. */
  Run launch(String... arguments) throws IOException {
    return launch(Map.of(), commandLine(arguments));
  }

  /** Starts any command line, for instance one that contains {@link #commandLine}. */
  Run launch(Map<String, String> environment, List<String> command) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(receivingSignals(command));
    builder.environment().keySet().removeIf(name -> name.startsWith("INTERLOCK_"));
    builder.environment().putAll(environment);
    return register(new ProcessRun(builder.start()));
  }

  /**
   * Runs a command line in a locale, from a script in the directory. The script can contain words
   * that the locale of the tests cannot express.
   */
  Result runIn(String locale, List<String> command, Path directory)
      throws IOException, InterruptedException {
    Path script = Files.writeString(directory.resolve("script"), script(command));
    return launch(Map.of("LC_ALL", locale), List.of("sh", script.toString())).await();
  }

  /** Quotes a command line for a shell. */
  static String script(List<String> command) {
    return command.stream()
        .map(word -> "'" + word.replace("'", "'\\''") + "'")
        .collect(Collectors.joining(" ", "exec ", ""));
  }

  private Run register(Run run) {
    started.add(run);
    return run;
  }

  @Override
  public void close() {
    started.forEach(Run::end);
  }
}
