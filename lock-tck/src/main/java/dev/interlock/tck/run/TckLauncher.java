package dev.interlock.tck.run;

import dev.interlock.tck.Harness;
import dev.interlock.tck.report.TestResult;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
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
final class TckLauncher extends TestResults {
  private static final String PARALLEL = "junit.jupiter.execution.parallel.";

  private final PrintWriter out;
  private long total;
  private long shown;

  private TckLauncher(PrintWriter out) {
    this.out = out;
  }

  /**
   * Runs the tests and waits until they have ended.
   *
   * @param harness gives access to the backend
   * @param rules the rules whose tests are run
   * @param except the rules whose tests are left out
   * @param out receives a line for every test that ends
   * @param junitXml the folder for JUnit's own report; empty for none
   * @return the results, in the order in which the tests ended
   */
  static List<TestResult> run(
      Harness harness,
      List<String> rules,
      List<String> except,
      PrintWriter out,
      Optional<Path> junitXml) {
    PostDiscoveryFilter asked =
        test ->
            FilterResult.includedIf(
                test.isContainer()
                    || (rulesOf(test).stream().anyMatch(rules::contains)
                        && rulesOf(test).stream().noneMatch(except::contains)));
    TckLauncher progress = new TckLauncher(out);
    List<TestExecutionListener> listeners = new ArrayList<>();
    listeners.add(progress);
    junitXml.ifPresent(folder -> listeners.add(new LegacyXmlReportGeneratingListener(folder, out)));
    try (HarnessTck.Offer offer = new HarnessTck.Offer(harness)) {
      LauncherDiscoveryRequest request =
          LauncherDiscoveryRequestBuilder.request()
              .selectors(DiscoverySelectors.selectClass(HarnessTck.class))
              .filters(asked)
              .configurationParameters(offer.parameters())
              .configurationParameter(PARALLEL + "enabled", "true")
              .configurationParameter(PARALLEL + "mode.default", "same_thread")
              .configurationParameter(PARALLEL + "config.strategy", "fixed")
              .configurationParameter(PARALLEL + "config.fixed.parallelism", "16")
              .configurationParameter(PARALLEL + "config.fixed.max-pool-size", "16")
              .build();
      LauncherFactory.create().execute(request, listeners.toArray(TestExecutionListener[]::new));
    }
    return progress.all();
  }

  private static List<String> rulesOf(TestDescriptor test) {
    return test.getSource()
        .filter(MethodSource.class::isInstance)
        .map(MethodSource.class::cast)
        .map(source -> RuleTests.rulesOf(source.getJavaClass(), source.getJavaMethod()))
        .orElse(List.of());
  }

  @Override
  public void testPlanExecutionStarted(TestPlan plan) {
    total = plan.countTestIdentifiers(TestIdentifier::isTest);
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    throw new IllegalStateException("a test of the kit is disabled: " + test + ", " + reason);
  }

  @Override
  synchronized void add(TestResult result) {
    super.add(result);
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
