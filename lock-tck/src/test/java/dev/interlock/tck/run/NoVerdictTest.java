package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.BackendInfo;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.report.Report;
import dev.interlock.tck.report.RuleResult;
import dev.interlock.tck.report.TestResult;
import dev.interlock.tck.run.BrokenRule.Excuse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.testkit.engine.EngineTestKit;

/** A machine that stood still excuses what it can have caused, and nothing else. */
class NoVerdictTest {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  @TempDir Path folder;

  static final class Disturbed extends LockTck {
    @Override
    protected Harness harness() {
      return Harness.at("memory:no-verdict");
    }

    @Nested
    class Tests {
      @Rule("WAIT-03")
      void isLate() throws Exception {
        awaitStandstill();
        throw new LateError("the waiter was late");
      }

      @Rule("EXCL-01")
      void seesTwoHolders() throws Exception {
        awaitStandstill();
        throw new AssertionError("two holders");
      }
    }

    private static volatile Path before = Path.of("");
    private static volatile Path after = Path.of("");

    private static void awaitStandstill() throws Exception {
      Files.createFile(before);
      awaitFile(after);
    }
  }

  private static void awaitFile(Path file) throws InterruptedException, TimeoutException {
    long end = System.nanoTime() + LIMIT.toNanos();
    while (!Files.exists(file)) {
      if (System.nanoTime() - end > 0) {
        throw new TimeoutException("no file " + file);
      }
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  /** Runs a test, and returns its status and message. */
  static final class RunTest implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      Disturbed.before = Path.of(arguments.get(1));
      Disturbed.after = Path.of(arguments.get(2));
      return EngineTestKit.engine("junit-jupiter")
          .selectors(
              DiscoverySelectors.selectNestedMethod(
                  List.of(Disturbed.class), Disturbed.Tests.class, arguments.get(0)))
          .execute()
          .testEvents()
          .finished()
          .map(
              ended ->
                  ended.getRequiredPayload(org.junit.platform.engine.TestExecutionResult.class))
          .map(
              result -> result.getStatus() + " " + result.getThrowable().orElseThrow().getMessage())
          .toList()
          .toString();
    }
  }

  private String outcomeOf(String test) throws Exception {
    Path before = folder.resolve(test + "-before");
    Path after = folder.resolve(test + "-after");
    Harness harness = Harness.at("memory:x");
    try (OtherProcess process =
        OtherProcess.start(
            new OtherProcess.Settings(
                harness, "memory:x", LockOptions.defaults(), List.of(), false))) {
      process.order(RunTest.class, test, before.toString(), after.toString());
      awaitFile(before);
      process.stop();
      TimeUnit.SECONDS.sleep(1); // the length of the disturbance
      process.resume();
      Files.createFile(after);
      return process.answer(LIMIT);
    }
  }

  @Test
  void aCheckThatWasLateHasNoVerdict() throws Exception {
    String outcome = outcomeOf("isLate");
    assertTrue(
        outcome.matches(
            "\\[ABORTED no verdict, since this machine (stood still for [0-9.]+ s):"
                + " the waiter was late]"),
        outcome);
  }

  @Test
  void twoHoldersAreNotExcused() throws Exception {
    String outcome = outcomeOf("seesTwoHolders");
    assertTrue(outcome.startsWith("[FAILED two holders"), outcome);
  }

  @Test
  void aRunWithoutAVerdictOnARuleIsNotWhole() {
    ContractRule rule = Contract.load().find("WAIT-03").orElseThrow();
    TestResult undecided =
        new TestResult(
            "t", "t", List.of("WAIT-03"), TestResult.Status.NO_VERDICT, "", null, Duration.ZERO);
    BackendInfo info;
    try (LockClient client = LockClient.open("memory:no-verdict")) {
      info = client.backend();
    }
    RuleResult result = new RuleResult(rule, List.of(undecided));
    Report report = Report.of(info, "x", Instant.now(), List.of(result), List.of(undecided));
    assertEquals(Report.Verdict.PARTIAL, report.verdict());
    assertTrue(report.advice().endsWith(": WAIT-03"), report.advice());
  }

  @Test
  void onlySomeFailuresMayBeTheMachine() {
    LockUnavailableException repeated = new LockUnavailableException("b", "e", "p", null);
    RepeatedFailure.mark(repeated, 100);
    assertEquals(
        List.of(
            Excuse.SLOWNESS,
            Excuse.STANDSTILL,
            Excuse.STANDSTILL,
            Excuse.NONE,
            Excuse.NONE,
            Excuse.NONE,
            Excuse.NONE,
            Excuse.NONE),
        List.of(
                new LateError("late"),
                new LeaseLostException("a", LossReason.EXPIRED, "late", null),
                new AssertionError("wrapped", new LockUnavailableException("b", "e", "p", null)),
                new LeaseLostException("a", LossReason.TAKEN, "by another", null),
                new AssertionError("two holders"),
                new TimeoutException("a test that hangs for minutes"),
                repeated,
                new IllegalStateException())
            .stream()
            .map(BrokenRule::excuseOf)
            .toList());
  }
}
