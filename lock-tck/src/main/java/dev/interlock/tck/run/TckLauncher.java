package dev.interlock.tck.run;

import dev.interlock.tck.LockTck;
import dev.interlock.tck.report.TestResult;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.reporting.legacy.xml.LegacyXmlReportGeneratingListener;

/** Runs the tests of some rules on the JUnit platform, concurrently, and shows progress. */
final class TckLauncher {
  private static final String PARALLEL = "junit.jupiter.execution.parallel.";

  private final PrintWriter out;
  private final Optional<Path> junitXml;
  private final TestResults results = new TestResults();

  TckLauncher(PrintWriter out, Optional<Path> junitXml) {
    this.out = out;
    this.junitXml = junitXml;
  }

  /**
   * Runs the tests and waits until they have ended.
   *
   * @param tests the test class
   * @param parameters JUnit configuration parameters that it needs
   * @param rules which rules' tests to run
   * @param except tests that name one of these rules are not run
   */
  void run(
      Class<? extends LockTck> tests,
      Map<String, String> parameters,
      List<String> rules,
      List<String> except) {
    PostDiscoveryFilter asked =
        test ->
            FilterResult.includedIf(
                test.isContainer()
                    || (rulesOf(test).stream().anyMatch(rules::contains)
                        && rulesOf(test).stream().noneMatch(except::contains)));
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClass(tests))
            .filters(asked)
            .configurationParameters(parameters)
            .configurationParameter(PARALLEL + "enabled", "true")
            .configurationParameter(PARALLEL + "mode.default", "same_thread")
            .configurationParameter(PARALLEL + "config.strategy", "fixed")
            .configurationParameter(PARALLEL + "config.fixed.parallelism", "16")
            .configurationParameter(PARALLEL + "config.fixed.max-pool-size", "16")
            .build();
    List<TestExecutionListener> listeners = new ArrayList<>();
    listeners.add(new Listener());
    junitXml.ifPresent(folder -> listeners.add(new LegacyXmlReportGeneratingListener(folder, out)));
    LauncherFactory.create().execute(request, listeners.toArray(TestExecutionListener[]::new));
  }

  List<TestResult> results() {
    return results.all();
  }

  private static List<String> rulesOf(TestDescriptor test) {
    return test.getSource()
        .filter(MethodSource.class::isInstance)
        .map(MethodSource.class::cast)
        .map(source -> RuleTests.rulesOf(source.getJavaClass(), source.getJavaMethod()))
        .orElse(List.of());
  }

  private final class Listener implements TestExecutionListener {
    private long total;
    private long shown;

    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
      total = plan.countTestIdentifiers(TestIdentifier::isTest);
    }

    @Override
    public void executionStarted(TestIdentifier test) {
      results.started(test);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
      results.finished(test, result).ifPresent(this::show);
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
      throw new IllegalStateException("a test of the kit is disabled: " + test + ", " + reason);
    }

    private synchronized void show(TestResult result) {
      out.printf(
          Locale.ROOT,
          "[%3d/%d] %-14s %s (%.1f s)%n",
          ++shown,
          total,
          result.status().name().toLowerCase(Locale.ROOT).replace('_', ' '),
          result.title(),
          result.took().toMillis() / 1e3);
      out.flush();
    }
  }
}
