package dev.interlock.verify;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.verify.TestResult.Status;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** In real JVMs, on real suites. */
class RunnerTest {

  @TempDir private Path directory;

  private Path logFile;
  private MavenModule module;
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream out = new PrintStream(printed, true, UTF_8);

  @BeforeEach
  void prepare() throws Exception {
    logFile = directory.resolve("log");
    Files.writeString(directory.resolve("options"), "-XX:TieredStopAtLevel=1\n");
    module = new MavenModule("lock-verify", directory, System.getProperty("java.class.path"));
  }

  private Map<String, SuiteResult> run(String tag, String method, Class<?>... suites)
      throws Exception {
    return run(List.of(), tag, method, suites);
  }

  private Map<String, SuiteResult> run(
      List<String> properties, String tag, String method, Class<?>... suites) throws Exception {
    List<Suite> all =
        Stream.of(suites)
            .map(type -> new Suite(module, type.getName(), Duration.ofSeconds(1), true))
            .toList();
    TestJvm.Settings settings =
        new TestJvm.Settings(
            Path.of(System.getProperty("java.home"), "bin", "java"),
            directory.resolve("options"),
            "",
            tag,
            method,
            properties);
    Progress progress = new Progress(out, 2, all);
    new Runner(settings, 2, new Log(logFile)).run(all, progress);
    return progress.results().stream()
        .collect(Collectors.toMap(result -> result.suite().name(), result -> result));
  }

  private static List<String> titles(SuiteResult result, Status status) {
    return result.tests().stream()
        .filter(test -> test.status() == status)
        .map(TestResult::title)
        .sorted()
        .toList();
  }

  @Test
  void everyTestIsReportedAsItEnded() throws Exception {
    SuiteResult mixed = run("extended", "", Samples.Mixed.class).get("Samples$Mixed");
    assertEquals(List.of("passes()", "passes()"), titles(mixed, Status.PASSED));
    assertEquals(List.of("fails()"), titles(mixed, Status.FAILED));
    assertEquals(List.of("isAborted()", "isDisabled()"), titles(mixed, Status.SKIPPED));
    assertEquals(List.of("doesNotApply()"), titles(mixed, Status.NOT_APPLICABLE));
    TestResult failure =
        mixed.tests().stream().filter(TestResult::failed).findFirst().orElseThrow();
    assertEquals("expected: <one\ntwo\tthree\\four> but was: <five>", failure.reason());
    assertTrue(failure.trace().contains("Samples$Mixed.fails(Samples.java"), failure::trace);
    String log = Files.readString(logFile);
    assertTrue(log.contains("no end of line, a tab\t, and a backslash \\"), log);
    assertTrue(log.contains("there is no moon"), log);
  }

  @Test
  void extendedTestsAreRunOnlyWhenAskedFor() throws Exception {
    assertEquals(
        List.of("fails()", "isExtended()"),
        titles(run("", "", Samples.Mixed.class).get("Samples$Mixed"), Status.FAILED));
  }

  @Test
  void ofTwoHalvesEachTestIsInOneAndTheSkippedOnesSayWhy() throws Exception {
    var halves =
        run(
            List.of("-Dinterlock.sample=0123456"),
            "",
            "",
            Samples.FirstHalf.class,
            Samples.SecondHalf.class);
    SuiteResult first = halves.get("Samples$FirstHalf");
    SuiteResult second = halves.get("Samples$SecondHalf");
    assertEquals(titles(first, Status.PASSED), titles(second, Status.SKIPPED));
    assertEquals(titles(first, Status.SKIPPED), titles(second, Status.PASSED));
    assertEquals(4, first.count(Status.PASSED) + second.count(Status.PASSED));
    first.tests().stream()
        .filter(test -> test.status() == Status.SKIPPED)
        .forEach(
            test ->
                assertEquals(
                    "not in the sample of this commit (./verify --all runs it)", test.reason()));
    assertEquals(
        "4 passed",
        run("", "", Samples.FirstHalf.class).get("Samples$FirstHalf").summary(),
        "without a sample");
  }

  @Test
  void oneMethodCanBeRunAlone() throws Exception {
    SuiteResult one = run("", "isAborted", Samples.Mixed.class).get("Samples$Mixed");
    assertEquals(1, one.tests().size(), () -> one.tests().toString());
  }

  @Test
  void aFailureInBeforeAllFailsTheClass() throws Exception {
    SuiteResult result = run("", "", Samples.CannotBegin.class).get("Samples$CannotBegin");
    assertTrue(result.failed());
    assertTrue(result.tests().get(0).reason().contains("no server"), result.tests()::toString);
  }

  @Test
  void aClassThatEndsItsJvmFailsAndTheClassesAfterItStillRun() throws Exception {
    Map<String, SuiteResult> results =
        run("", "", Samples.EndsTheJvm.class, Samples.Passes.class, Samples.Mixed.class);
    assertEquals(
        "the JVM ended with exit code 3",
        results.get("Samples$EndsTheJvm").tests().get(0).reason());
    assertEquals("1 passed", results.get("Samples$Passes").summary());
    assertEquals(3, results.size());
  }

  @Test
  void aClassWithoutTestsFails() throws Exception {
    assertEquals(
        "it ran no test",
        run("extended", "", Samples.OnlyExtended.class)
            .get("Samples$OnlyExtended")
            .tests()
            .get(0)
            .reason());
  }

  @Test
  void failuresAndRerunCommandsComeLast() throws Exception {
    var results = run("extended", "", Samples.Mixed.class, Samples.Passes.class);
    printed.reset();
    assertFalse(
        new Summary(out, new Log(logFile)).print(List.copyOf(results.values()), Duration.ZERO));
    String text = printed.toString(UTF_8);
    List<String> wanted =
        List.of(
            "Samples$Passes",
            "Skipped:",
            "there is no moon",
            "1) lock-verify Samples$Mixed: fails()",
            "expected: <one",
            "at dev.interlock.verify.Samples$Mixed.fails(",
            "rerun: ./verify --only 'dev.interlock.verify.Samples$Mixed#fails'",
            logFile.toString(),
            "3 passed, 1 failed, 2 skipped");
    int from = 0;
    for (String each : wanted) {
      int at = text.indexOf(each, from);
      assertTrue(at >= 0, () -> "missing or out of order: " + each + " in\n" + text);
      from = at;
    }
  }

  @Test
  void aRunWithoutFailuresIsGreenAndOneWithoutSuitesIsNot() throws Exception {
    Summary summary = new Summary(out, new Log(logFile));
    assertTrue(
        summary.print(List.copyOf(run("", "", Samples.Passes.class).values()), Duration.ZERO));
    assertFalse(summary.print(List.of(), Duration.ZERO));
  }
}
