package dev.interlock.verify;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.verify.TestResult.Status;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.TestAbortedException;

/**
 * Runs suites in a separate JVM, on JUnit: it reads their names from its standard input and runs
 * one after the other. It ends with the input, and so with the process that started it.
 */
final class Worker {
  /** Of the kit, on which the runner does not depend. */
  private static final String NOT_APPLICABLE = "NotApplicableException";

  private final PrintStream out;
  private final Launcher launcher = LauncherFactory.create();
  private final String excludedTag;
  private final String method;

  private Worker(PrintStream out, String excludedTag, String method) {
    this.out = out;
    this.excludedTag = excludedTag;
    this.method = method;
  }

  /**
   * Runs the worker.
   *
   * @param arguments a directory of compiled tests to list, or {@code run}; the tag of the tests to
   *     leave out; the only method to run. The last two may be empty.
   */
  public static void main(String[] arguments) throws Exception {
    PrintStream messages = System.out;
    System.setOut(System.err); // what tests print goes to another file
    Worker worker = new Worker(new PrintStream(messages, true, UTF_8), arguments[1], arguments[2]);
    int status = 1;
    try {
      if (arguments[0].equals("run")) {
        worker.runAll();
      } else {
        worker.list(Path.of(arguments[0]));
      }
      status = 0;
    } catch (Throwable e) { // including what JUnit does not survive, such as an OutOfMemoryError
      e.printStackTrace(System.err);
    }
    System.exit(status); // whatever threads the tests have left
  }

  private void runAll() throws InterruptedException {
    BlockingQueue<String> classes = new LinkedBlockingQueue<>();
    Thread input =
        new Thread(
            () -> {
              try (BufferedReader in =
                  new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                  classes.add(line);
                }
              } catch (IOException e) {
                System.err.println("cannot read which suites to run: " + e);
              }
              System.exit(0);
            },
            "verify-input");
    input.setDaemon(true);
    input.start();
    while (true) {
      String name = classes.take();
      launcher.execute(request(DiscoverySelectors.selectClass(name)).build(), new Reporter());
      report(Message.Kind.END, List.of());
    }
  }

  /** Reports the classes with tests. One that has annotations and no tests is a failure. */
  private void list(Path testClasses) throws IOException, ClassNotFoundException {
    for (Class<?> type : topLevelClasses(testClasses)) {
      DiscoverySelector selector = DiscoverySelectors.selectClass(type);
      if (hasTests(launcher.discover(request(selector).build()))) {
        report(Message.Kind.SUITE, List.of(type.getName()));
      } else if (isAnnotated(type)
          && !hasTests(
              launcher.discover(
                  LauncherDiscoveryRequestBuilder.request().selectors(selector).build()))) {
        throw new IllegalStateException("JUnit finds no test in " + type.getName());
      }
    }
  }

  private static List<Class<?>> topLevelClasses(Path testClasses)
      throws IOException, ClassNotFoundException {
    List<String> names;
    try (Stream<Path> files = Files.walk(testClasses)) {
      names =
          files
              .map(file -> testClasses.relativize(file).toString())
              .filter(file -> file.matches("[^$-]+\\.class"))
              .map(file -> file.replaceAll("\\.class$", "").replace(File.separatorChar, '.'))
              .sorted()
              .toList();
    }
    List<Class<?>> classes = new ArrayList<>();
    for (String name : names) {
      classes.add(Class.forName(name, false, Worker.class.getClassLoader()));
    }
    return classes;
  }

  /** Whether it has annotations of tests. Throws what loading the types of its members throws. */
  private static boolean isAnnotated(Class<?> type) {
    return !Modifier.isAbstract(type.getModifiers())
        && Stream.concat(Stream.of(type.getDeclaredFields()), Stream.of(type.getDeclaredMethods()))
            .flatMap(member -> Stream.of(((AnnotatedElement) member).getAnnotations()))
            .anyMatch(each -> each.annotationType().isAnnotationPresent(Testable.class));
  }

  private static boolean hasTests(TestPlan plan) {
    return plan.getRoots().stream()
        .flatMap(engine -> plan.getChildren(engine).stream())
        .anyMatch(suite -> !plan.getChildren(suite).isEmpty());
  }

  private LauncherDiscoveryRequestBuilder request(DiscoverySelector selector) {
    LauncherDiscoveryRequestBuilder request =
        LauncherDiscoveryRequestBuilder.request().selectors(selector);
    if (!excludedTag.isEmpty()) {
      request.filters(TagFilter.excludeTags(excludedTag));
    }
    if (!method.isEmpty()) {
      PostDiscoveryFilter named =
          test ->
              FilterResult.includedIf(
                  test.getSource().orElse(null) instanceof MethodSource source
                      && source.getMethodName().equals(method));
      request.filters(named);
    }
    return request;
  }

  private void report(Message.Kind kind, List<String> fields) {
    out.println(new Message(kind, fields).line());
  }

  /** Reports each test as it ends; tests may end on several threads at once. */
  private final class Reporter implements TestExecutionListener {
    private final Map<String, Long> started = new ConcurrentHashMap<>();

    @Override
    public void executionStarted(TestIdentifier test) {
      started.put(test.getUniqueId(), System.nanoTime());
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
      result(test, Status.SKIPPED, reason, "");
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult end) {
      Throwable cause = end.getThrowable().orElse(null);
      if (cause != null) {
        result(test, status(end, cause), reason(cause), trace(cause));
      } else if (end.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
        result(test, Status.FAILED, end.toString(), "");
      } else if (test.isTest()) {
        result(test, Status.PASSED, "", "");
      }
    }

    private void result(TestIdentifier test, Status status, String reason, String trace) {
      long now = System.nanoTime();
      String name =
          test.getSource().orElse(null) instanceof MethodSource source
              ? source.getMethodName()
              : "";
      TestResult result =
          new TestResult(
              name,
              test.getDisplayName(),
              status,
              Duration.ofNanos(now - started.getOrDefault(test.getUniqueId(), now)),
              reason,
              trace);
      report(Message.Kind.RESULT, result.fields());
    }

    private static Status status(TestExecutionResult end, Throwable cause) {
      if (end.getStatus() == TestExecutionResult.Status.FAILED) {
        return Status.FAILED;
      }
      return cause.getClass().getSimpleName().equals(NOT_APPLICABLE)
          ? Status.NOT_APPLICABLE
          : Status.SKIPPED;
    }

    private static String reason(Throwable cause) {
      String message = cause.getMessage();
      boolean plain = cause instanceof AssertionError || cause instanceof TestAbortedException;
      return plain && message != null ? message : cause.toString();
    }

    private static String trace(Throwable cause) {
      StringWriter text = new StringWriter();
      cause.printStackTrace(new PrintWriter(text, true));
      return text.toString();
    }
  }
}
