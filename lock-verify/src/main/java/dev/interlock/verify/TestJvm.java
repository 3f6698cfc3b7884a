package dev.interlock.verify;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.Writer;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A JVM in which a {@link Worker} runs suites of one module. Not thread-safe. */
final class TestJvm implements AutoCloseable {

  /** No test takes half as long. */
  private static final Duration STUCK_AFTER = Duration.ofMinutes(20);

  private static final Duration EXIT_TIMEOUT = Duration.ofSeconds(10);

  private final Process process;
  private final Path output;

  /** What the worker reports; empty at the end of its output. */
  private final BlockingQueue<Optional<Message>> messages = new LinkedBlockingQueue<>();

  private TestJvm(Process process, Path output) {
    this.process = process;
    this.output = output;
    Thread pump = new Thread(this::pump, "verify-" + process.pid());
    pump.setDaemon(true);
    pump.start();
  }

  /**
   * How test JVMs are started.
   *
   * @param java the program
   * @param options a file of options for it
   * @param runner the class path of this runner
   * @param excludedTag the tag of the tests to leave out; empty for none
   * @param method the method to run of each suite; empty for all
   * @param properties more system properties, as -D options
   */
  record Settings(
      Path java,
      Path options,
      String runner,
      String excludedTag,
      String method,
      List<String> properties) {}

  static TestJvm start(Settings settings, MavenModule module, String what) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(settings.java().toString());
    command.add("@" + settings.options());
    command.addAll(settings.properties());
    command.addAll(
        List.of(
            "-cp",
            module.classPath() + File.pathSeparator + settings.runner(),
            Worker.class.getName(),
            what,
            settings.excludedTag(),
            settings.method()));
    Path output = Files.createTempFile("interlock-verify-", ".log");
    return new TestJvm(
        new ProcessBuilder(command)
            .directory(module.directory().toFile())
            .redirectError(Redirect.appendTo(output.toFile()))
            .start(),
        output);
  }

  private void pump() {
    try (BufferedReader in = process.inputReader(UTF_8)) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Optional<Message> message = Message.in(line);
        if (message.isPresent()) {
          messages.add(message);
        } else { // of the JVM itself, such as the stacks of its threads, or of a child
          Files.writeString(output, line + "\n", StandardOpenOption.APPEND);
        }
      }
    } catch (IOException | RuntimeException e) {
      process.destroyForcibly(); // its reports can no longer be trusted
    }
    messages.add(Optional.empty());
  }

  /** Lists the classes that have tests, in a JVM started for that. */
  static List<String> list(Settings settings, MavenModule module)
      throws IOException, InterruptedException {
    List<String> suites = new ArrayList<>();
    try (TestJvm jvm = start(settings, module, module.testClasses().toString())) {
      Optional<Message> message = jvm.messages.poll(STUCK_AFTER.toMinutes(), TimeUnit.MINUTES);
      while (message != null && message.isPresent()) {
        suites.add(message.get().fields().get(0));
        message = jvm.messages.poll(STUCK_AFTER.toMinutes(), TimeUnit.MINUTES);
      }
      if (message == null || jvm.process.waitFor() != 0) {
        throw new IOException(
            "cannot list the tests of " + module.name() + ":\n" + Files.readString(jvm.output));
      }
    }
    return suites;
  }

  /**
   * Runs a suite to its end.
   *
   * @param results receives each result and, if the JVM does not survive the suite, a failure
   * @return whether the JVM can run another suite
   */
  boolean run(Suite suite, Consumer<TestResult> results) throws IOException, InterruptedException {
    Writer input = process.outputWriter(UTF_8);
    try {
      input.write(suite.className() + "\n");
      input.flush();
    } catch (IOException ended) {
      // its output says why
    }
    long lastMessageAt = System.nanoTime();
    boolean stuck = false;
    while (true) {
      Optional<Message> message = messages.poll(1, TimeUnit.SECONDS);
      if (message != null && message.isPresent() && !stuck) {
        lastMessageAt = System.nanoTime();
        if (message.get().kind() == Message.Kind.END) {
          return true;
        }
        results.accept(TestResult.of(message.get().fields()));
      } else if ((message != null && message.isEmpty()) || !process.isAlive()) {
        // The second, as a child of the JVM may keep the pipe open.
        if (!stuck) {
          results.accept(TestResult.ofSuite("the JVM ended with exit code " + process.waitFor()));
        }
        return false;
      } else {
        Duration silence = Duration.ofNanos(System.nanoTime() - lastMessageAt);
        if (stuck && silence.compareTo(EXIT_TIMEOUT) > 0) {
          process.destroyForcibly();
        } else if (!stuck && silence.compareTo(STUCK_AFTER) > 0) {
          stuck = true;
          lastMessageAt = System.nanoTime();
          results.accept(
              TestResult.ofSuite(
                  "no test ended for "
                      + STUCK_AFTER.toMinutes()
                      + " minutes; the log has the stacks of all threads"));
          new ProcessBuilder("sh", "-c", "kill -QUIT " + process.pid()).start().waitFor();
        }
      }
    }
  }

  /** The processor time that the JVM and its children have used. */
  Duration cpuTime() {
    return CpuTime.of(process.pid());
  }

  /** The file to which the JVM and its tests print. */
  Path output() {
    return output;
  }

  /** Lets the JVM end, and kills it if it does not. */
  @Override
  public void close() throws IOException {
    try {
      process.getOutputStream().close();
      if (!process.waitFor(EXIT_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      process.destroyForcibly();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    Files.delete(output);
  }
}
