package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

class ReportListenerTest {
  @TempDir Path folder;

  /** Runs JUnit as an IDE does. */
  static final class SampleTest extends LockTck {
    @Override
    protected Harness harness() {
      return Harness.at("memory:report-listener");
    }
  }

  private static void run(Class<?> tests, String rule, String parameter, String value) {
    PostDiscoveryFilter ofTheRule =
        test ->
            FilterResult.includedIf(
                test.isContainer()
                    || test.getSource()
                        .filter(MethodSource.class::isInstance)
                        .map(MethodSource.class::cast)
                        .map(
                            source ->
                                RuleTests.rulesOf(source.getJavaClass(), source.getJavaMethod()))
                        .filter(rules -> rules.contains(rule))
                        .isPresent());
    LauncherFactory.create()
        .execute(
            LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(tests))
                .filters(ofTheRule)
                .configurationParameter(parameter, value)
                .build());
  }

  @Test
  void aRunByJUnitWritesAReportOfItsOwn() throws Exception {
    run(SampleTest.class, "EXCL-02", ReportListener.FOLDER, folder.toString());
    String report = Files.readString(folder.resolve("SampleTest/report.md"));
    assertTrue(report.startsWith("# Lock contract: memory"), report);
    assertTrue(report.contains("| EXCL-02 Different names are different locks | passed |"), report);
    // rules that were not run are not shown as passed
    assertTrue(report.contains("**PARTIAL"), report);
    assertTrue(report.matches("(?s).*\\| FENCE-01 [^|]*\\| not tested \\|.*"), report);
    assertTrue(Files.exists(folder.resolve("SampleTest/report.json")));
  }

  @Test
  void nothingIsWrittenUnasked() throws Exception {
    run(SampleTest.class, "EXCL-02", "some.other.parameter", folder.toString());
    assertFalse(Files.exists(folder.resolve("SampleTest")));
    assertEquals(0, folder.toFile().list().length);
  }
}
