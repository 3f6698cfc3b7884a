package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The command in its own JVM. {@link #close()} ends every process that was started. */
final class Interlock implements AutoCloseable {

  /** How a run ended. */
  record Result(int exitCode, String out, String err) {

    /** The run ended with this exit code and one line on stderr, which contains the part. */
    void assertFailed(int expected, String part) {
      assertEquals(expected, exitCode, this::toString);
      assertEquals("", out);
      assertTrue(err.startsWith("interlock: "), err);
      assertTrue(err.contains(part), err);
      assertEquals(1, err.lines().count(), err);
    }

    /** The run ended well and without a word on stderr. */
    @CanIgnoreReturnValue
    Result assertDone() {
      assertEquals(0, exitCode, this::toString);
      assertEquals("", err);
      return this;
    }
  }

  /** A run under way. */
  static final class Run {
    private final Process process;
    private final Output out;
    private final Output err;

    private Run(Process process) {
      this.process = process;
      this.out = new Output(process.getInputStream(), "out of " + process.pid());
      this.err = new Output(process.getErrorStream(), "err of " + process.pid());
    }

    long pid() {
      return process.pid();
    }

    Output out() {
      return out;
    }

    Output err() {
      return err;
    }

    boolean isAlive() {
      return process.isAlive();
    }

    /** Writes a line to the standard input. */
    void type(String line) throws IOException {
      process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    }

    /** Sends a signal, by its name without SIG. */
    void signal(String name) throws IOException, InterruptedException {
      int exitCode =
          new ProcessBuilder("sh", "-c", "kill -s " + name + " " + process.pid()).start().waitFor();
      if (exitCode != 0) {
        throw new AssertionError("SIG" + name + " could not be sent");
      }
    }

    Result await() throws InterruptedException {
      if (!process.waitFor(2, TimeUnit.MINUTES)) {
        throw new AssertionError("still running; err so far: " + err.soFar());
      }
      return new Result(process.exitValue(), out.all(), err.all());
    }
  }

  /** What a build under nohup, or in the background of a script, would have its children ignore. */
  private static final List<String> HEED_SIGNALS = List.of("env", "--default-signal=HUP,INT");

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

  private final Set<Process> started = ConcurrentHashMap.newKeySet();

  /** Adds a request time-out that outlasts the stalls of a busy machine. */
  static String patient(String uri) {
    return uri + "?requestTimeout=30s";
  }

  /** How a shell would start it, with the backends that the build puts on the class path. */
  static List<String> commandLine(String... arguments) {
    return java(classPath(), Main.class.getName(), arguments);
  }

  /** How a shell would start any program. */
  static List<String> java(String classPath, String mainClass, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
    // A command that runs the kit has to be as patient as the tests.
    String slack = System.getProperty("interlock.tck.slack");
    if (slack != null) {
      command.add("-Dinterlock.tck.slack=" + slack);
    }
    command.addAll(List.of("-cp", classPath, mainClass));
    command.addAll(List.of(arguments));
    return command;
  }

  /** The tests' class path without the tests, which have backends of their own. */
  static String classPath() {
    String path =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return Arrays.stream(path.split(File.pathSeparator))
        .filter(entry -> !entry.endsWith("test-classes") && !entry.endsWith("test-classes/"))
        .collect(Collectors.joining(File.pathSeparator));
  }

  Run start(String... arguments) throws IOException {
    return start(Map.of(), arguments);
  }

  Run start(Map<String, String> environment, String... arguments) throws IOException {
    return launch(environment, commandLine(arguments));
  }

  /** Starts any command line, for instance one that has {@link #commandLine} in it. */
  Run launch(Map<String, String> environment, List<String> command) throws IOException {
    List<String> wakeful = new ArrayList<>(ignoresSignals() ? HEED_SIGNALS : List.of());
    wakeful.addAll(command);
    ProcessBuilder builder = new ProcessBuilder(wakeful);
    builder.environment().keySet().removeIf(name -> name.startsWith("INTERLOCK_"));
    builder.environment().putAll(environment);
    Process process = builder.start();
    started.add(process);
    return new Run(process);
  }

  Result run(String... arguments) throws IOException, InterruptedException {
    return run(Map.of(), arguments);
  }

  Result run(Map<String, String> environment, String... arguments)
      throws IOException, InterruptedException {
    Run run = start(environment, arguments);
    run.process.getOutputStream().close();
    return run.await();
  }

  @Override
  public void close() {
    for (Process process : started) {
      List<ProcessHandle> family =
          Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
      family.forEach(ProcessHandle::destroyForcibly);
    }
  }
}
