package dev.interlock.verify;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A JVM in which a {@link Worker} runs suites of one module. Not thread-safe. */
final class Fork implements AutoCloseable {

  /** The longest that a suite may say and finish nothing; no test takes half as long. */
  private static final Duration MOST_SILENCE = Duration.ofMinutes(10);

  private static final Duration MOST_DYING = Duration.ofSeconds(10);

  private final Process process;
  private final BlockingQueue<Optional<String>> lines = new LinkedBlockingQueue<>();

  private Fork(Process process) {
    this.process = process;
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

  static Fork start(Settings settings, Module module, String what) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(settings.java().toString());
    command.add("@" + settings.options());
    command.addAll(settings.properties());
    command.addAll(
        List.of(
            "-cp",
            module.classPath() + java.io.File.pathSeparator + settings.runner(),
            Worker.class.getName(),
            what,
            settings.excludedTag(),
            settings.method()));
    return new Fork(
        new ProcessBuilder(command)
            .directory(module.directory().toFile())
            .redirectErrorStream(true)
            .start());
  }

  private void pump() {
    try (BufferedReader in = process.inputReader(UTF_8)) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        lines.add(Optional.of(line));
      }
    } catch (IOException e) {
      lines.add(Optional.of("(the output cannot be read: " + e + ")"));
    }
    lines.add(Optional.empty());
  }

  /** Lists the classes that have tests, having been started for that. */
  static List<String> list(Settings settings, Module module)
      throws IOException, InterruptedException {
    List<String> suites = new ArrayList<>();
    StringBuilder said = new StringBuilder();
    try (Fork fork = start(settings, module, module.testClasses().toString())) {
      for (Optional<String> line = fork.lines.take(); line.isPresent(); line = fork.lines.take()) {
        Optional<Message> message = Message.in(line.get());
        if (message.isPresent()) {
          suites.add(message.get().fields().get(0));
        } else {
          said.append(line.get()).append('\n');
        }
      }
      if (fork.process.waitFor() != 0) {
        throw new IOException("cannot list the tests of " + module.name() + ":\n" + said);
      }
    }
    return suites;
  }

  /**
   * Runs a suite to its end.
   *
   * @param log takes what the suite prints
   * @param results told each test that ends and, if the JVM does not survive the suite, that
   * @return whether the JVM can run another suite
   */
  boolean run(Suite suite, Writer log, Consumer<TestResult> results)
      throws IOException, InterruptedException {
    String name = suite.className();
    Writer input = process.outputWriter(UTF_8);
    try {
      input.write(name + "\n");
      input.flush();
    } catch (IOException ended) {
      // its output says why
    }
    long heard = System.nanoTime();
    boolean stuck = false;
    while (true) {
      Optional<String> line = lines.poll(1, TimeUnit.SECONDS);
      if (line != null && line.isPresent()) {
        heard = System.nanoTime();
        Optional<Message> message = Message.in(line.get());
        String printed = Message.before(line.get());
        if (message.isEmpty() || !printed.isEmpty()) {
          log.write(printed + "\n");
        }
        if (message.isEmpty()) {
          continue;
        }
        if (message.get().kind() == Message.Kind.RESULT) {
          results.accept(TestResult.of(message.get().fields()));
        } else if (message.get().kind() == Message.Kind.END) {
          return true;
        }
        continue;
      }
      Duration silence = Duration.ofNanos(System.nanoTime() - heard);
      if (line != null || !process.isAlive()) { // a child of its own may keep the pipe open
        if (!stuck) {
          results.accept(
              TestResult.ofSuite(name, "the JVM ended with exit code " + process.waitFor()));
        }
        return false;
      } else if (stuck && silence.compareTo(MOST_DYING) > 0) {
        process.destroyForcibly();
      } else if (!stuck && silence.compareTo(MOST_SILENCE) > 0) {
        stuck = true;
        heard = System.nanoTime();
        results.accept(
            TestResult.ofSuite(
                name,
                "nothing happened for "
                    + MOST_SILENCE.toMinutes()
                    + " minutes; the log has the stacks of all threads"));
        new ProcessBuilder("sh", "-c", "kill -QUIT " + process.pid()).start().waitFor();
      }
    }
  }

  /** The processor time that the JVM and its children have used. */
  Duration cpuTime() {
    return CpuTime.of(process.pid());
  }

  /** Lets the JVM end, and ends it if it does not. */
  @Override
  public void close() {
    try {
      process.getOutputStream().close();
      if (!process.waitFor(MOST_DYING.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      process.destroyForcibly();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
