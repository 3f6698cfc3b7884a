package dev.interlock.verify;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.verify.TestResult.Status;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs suites in a JVM of their own, on JUnit: those whose names it reads from its standard input,
 * one after the other. It ends with the input, and so with the process that started it.
 */
final class Worker {
  private static final String NOT_APPLICABLE = "NotApplicableException";

  private final PrintStream out;
  private final Launcher launcher = LauncherFactory.create();
  private final List<String> excludedTags;
  private final String method;

  private Worker(PrintStream out, List<String> excludedTags, String method) {
    this.out = out;
    this.excludedTags = excludedTags;
    this.method = method;
  }

  /**
   * Runs the worker.
   *
   * @param arguments {@code list} and the directory of compiled tests, or {@code run}; then the tag
   *     of the tests to leave out, and the method to which to keep, each of which may be empty
   */
  public static void main(String[] arguments) throws Exception {
    String tag = arguments[1];
    Worker worker =
        new Worker(
            new PrintStream(System.out, true, UTF_8),
            tag.isEmpty() ? List.of() : List.of(tag),
            arguments[2]);
    if (arguments[0].equals("run")) {
      worker.runAll();
    } else {
      worker.list(Path.of(arguments[0]));
    }
    System.exit(0); // whatever threads the tests have left
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
      launcher.execute(request(DiscoverySelectors.selectClass(name)).build(), new Reporter(name));
      report(Message.Kind.END, List.of(name));
    }
  }

  private void list(Path testClasses) {
    TestPlan plan =
        launcher.discover(
            request(DiscoverySelectors.selectClasspathRoots(Set.of(testClasses)).get(0))
                .filters(ClassNameFilter.includeClassNamePatterns("[^$]*Test"))
                .build());
    for (TestIdentifier engine : plan.getRoots()) {
      for (TestIdentifier suite : plan.getChildren(engine)) {
        if (!plan.getChildren(suite).isEmpty()
            && suite.getSource().orElse(null) instanceof ClassSource source) {
          report(Message.Kind.SUITE, List.of(source.getClassName()));
        }
      }
    }
  }

  private LauncherDiscoveryRequestBuilder request(DiscoverySelector selector) {
    LauncherDiscoveryRequestBuilder request =
        LauncherDiscoveryRequestBuilder.request().selectors(selector);
    if (!excludedTags.isEmpty()) {
      request.filters(TagFilter.excludeTags(excludedTags));
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
    private final String className;
    private final Map<String, Long> started = new ConcurrentHashMap<>();

    Reporter(String className) {
      this.className = className;
    }

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
              className,
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
      return cause instanceof AssertionError && message != null ? message : cause.toString();
    }

    private static String trace(Throwable cause) {
      StringWriter text = new StringWriter();
      cause.printStackTrace(new PrintWriter(text, true));
      return text.toString();
    }
  }
}
