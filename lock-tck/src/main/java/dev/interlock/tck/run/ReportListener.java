package dev.interlock.tck.run;

import dev.interlock.tck.LockTck;
import dev.interlock.tck.report.Report;
import dev.interlock.tck.report.RuleResult;
import dev.interlock.tck.report.TestResult;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Writes a report for each subclass of {@link LockTck} that JUnit ran, if the configuration
 * parameter or system property {@link #FOLDER} names a folder. Each class gets a folder with its
 * name there. JUnit finds the listener through the service loader.
 */
public final class ReportListener implements TestExecutionListener {
  /** The name of the parameter, {@value}. */
  public static final String FOLDER = "interlock.tck.report";

  private static final Map<Class<?>, Kit> KITS = new ConcurrentHashMap<>();

  private final Map<String, Run> runs = new ConcurrentHashMap<>();
  private volatile @Nullable TestPlan plan;
  private volatile @Nullable Path folder;

  /** For JUnit. */
  public ReportListener() {}

  /**
   * Sets the kit that runs the tests of a class.
   *
   * @param tested the class
   * @param kit the kit; the report describes its backend
   */
  public static void setKit(Class<?> tested, Kit kit) {
    KITS.put(tested, kit);
  }

  private record Run(TestResults results, Instant started) {}

  @Override
  public void testPlanExecutionStarted(TestPlan started) {
    plan = started;
    folder = started.getConfigurationParameters().get(FOLDER).map(Path::of).orElse(null);
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    kitRun(test)
        .ifPresent(
            root ->
                runs.computeIfAbsent(
                        root.getUniqueId(), id -> new Run(new TestResults(), Instant.now()))
                    .results()
                    .executionStarted(test));
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    kitRun(test)
        .ifPresent(
            root -> {
              Run run = runs.get(root.getUniqueId());
              if (run != null) {
                run.results().executionFinished(test, result);
                if (test.equals(root)) {
                  runs.remove(root.getUniqueId());
                  write(kitClass(root).orElseThrow(), run);
                }
              }
            });
  }

  private void write(Class<?> tested, Run run) {
    Kit kit = KITS.remove(tested);
    Path top = folder;
    if (kit == null || top == null) {
      return; // no test could start; JUnit reports the reason
    }
    Contract contract = Contract.load();
    List<TestResult> tests = run.results().all();
    List<RuleResult> rules = Report.byRule(contract, contract.matching(List.of("*")), tests);
    Report report = Report.of(kit.info(), kit.endpoint(), run.started(), rules, tests);
    try {
      report.writeTo(top.resolve(tested.getSimpleName()));
    } catch (IOException e) {
      throw new UncheckedIOException("the report of " + tested.getName() + " was not written", e);
    }
  }

  /** {@return the subclass of the kit that a test belongs to; empty if it gets no report} */
  private Optional<TestIdentifier> kitRun(TestIdentifier test) {
    TestPlan of = plan;
    if (of == null || folder == null) {
      return Optional.empty();
    }
    Optional<TestIdentifier> at = Optional.of(test);
    while (at.isPresent() && kitClass(at.get()).isEmpty()) {
      at = of.getParent(at.get());
    }
    return at;
  }

  /**
   * {@return the subclass of the kit; empty for {@link HarnessTck}, whose caller writes the report}
   */
  private static Optional<Class<?>> kitClass(TestIdentifier test) {
    return test.getSource()
        .filter(ClassSource.class::isInstance)
        .<Class<?>>map(source -> ((ClassSource) source).getJavaClass())
        .filter(type -> LockTck.class.isAssignableFrom(type) && type != HarnessTck.class);
  }
}
