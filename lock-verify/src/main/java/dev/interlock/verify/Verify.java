package dev.interlock.verify;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Runs the test classes of the modules that {@code ./verify} has built in the current directory, on
 * the Java that runs this; {@code ./verify --help} explains the options.
 */
public final class Verify {
  private static final String EXTENDED = "extended";
  private static final Path OPTIONS = Path.of("tools/test-jvm-options");
  private static final Path TIMES = Path.of("tools/suite-times");
  private static final Path LOG = Path.of(".interlock/verify.log");
  private static final Path LAST_TIMES = Path.of(".interlock/suite-times");

  private boolean all;
  private String only = "";
  private String method = "";
  private int repeat = 1;
  private int jobs = Runtime.getRuntime().availableProcessors() * 2;
  private final List<String> properties = new ArrayList<>();

  private Verify(String[] arguments) {
    Deque<String> rest = new ArrayDeque<>(List.of(arguments));
    while (!rest.isEmpty()) {
      String argument = rest.pop();
      switch (argument) {
        case "--all" -> all = true;
        case "--only" -> {
          String[] names = value(argument, rest).split("#", 2);
          only = names[0];
          method = names.length > 1 ? names[1] : "";
        }
        case "--repeat" -> repeat = number(argument, rest);
        case "--jobs" -> jobs = number(argument, rest);
        default -> {
          if (!argument.matches("-D.+")) {
            throw new IllegalArgumentException("unknown option " + argument);
          }
          properties.add(argument);
        }
      }
    }
  }

  private static String value(String option, Deque<String> rest) {
    if (rest.isEmpty()) {
      throw new IllegalArgumentException(option + " needs a value");
    }
    return rest.pop();
  }

  private static int number(String option, Deque<String> rest) {
    String value = value(option, rest);
    if (!value.matches("[1-9][0-9]{0,3}")) {
      throw new IllegalArgumentException(
          option + " has to be a number from 1 to 9999, not " + value);
    }
    return Integer.parseInt(value);
  }

  /**
   * Runs the suites, and exits with 0 if every test passed, with 1 if one failed, and with 2 if the
   * command line is wrong.
   *
   * @param arguments the options
   * @throws IOException if test JVMs cannot be started or the log cannot be written
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    Verify verify;
    try {
      verify = new Verify(arguments);
    } catch (IllegalArgumentException e) {
      System.err.println("verify: " + e.getMessage());
      System.exit(2);
      return;
    }
    // So as not to keep the machine busy after the script has ended. Test JVMs end with this one.
    ProcessHandle.current()
        .parent()
        .ifPresent(
            script -> {
              var unused = script.onExit().thenRun(() -> System.exit(143));
            });
    System.exit(verify.run(System.out));
  }

  private int run(PrintStream out) throws IOException, InterruptedException {
    Path top = Path.of("").toAbsolutePath();
    Log logFile = new Log(top.resolve(LOG));
    Runner runner =
        new Runner(
            new TestJvm.Settings(
                Path.of(System.getProperty("java.home"), "bin", "java"),
                top.resolve(OPTIONS),
                System.getProperty("java.class.path"),
                all || !only.isEmpty() ? "" : EXTENDED,
                method,
                properties),
            jobs,
            logFile);
    SuiteTimes times = SuiteTimes.read(top.resolve(TIMES));
    List<Suite> suites = selected(runner.suites(MavenModule.below(top), times));
    if (suites.isEmpty()) {
      System.err.println(
          "verify: no tests match --only " + only + (method.isEmpty() ? "" : "#" + method));
      return 2;
    }
    out.printf("%d test classes, up to %d at a time%n", suites.size(), jobs);
    Progress progress = new Progress(out, jobs, suites);
    long start = System.nanoTime();
    runner.run(suites, progress);
    boolean passed =
        new Summary(out, logFile)
            .print(progress.results(), Duration.ofNanos(System.nanoTime() - start));
    if (passed && method.isEmpty()) {
      progress.results().forEach(times::took);
      times.write(top.resolve(LAST_TIMES));
    }
    return passed ? 0 : 1;
  }

  private List<Suite> selected(List<Suite> suites) {
    List<Suite> selected = new ArrayList<>();
    for (int i = 0; i < repeat; i++) {
      for (Suite suite : suites) {
        if (only.isEmpty()
            || suite.module().name().equals(only)
            || suite.name().equals(only)
            || suite.className().equals(only)) {
          selected.add(suite);
        }
      }
    }
    return selected;
  }
}
