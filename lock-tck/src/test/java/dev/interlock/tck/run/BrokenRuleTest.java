package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

class BrokenRuleTest {

  static final class Broken extends LockTck {
    @Override
    protected Harness harness() {
      return Harness.at("memory:broken-rule");
    }

    @Nested
    class Tests {
      @Rule("EXCL-02")
      void fails() {
        throw new AssertionError("two names, one lock");
      }

      @Rule("EXCL-02")
      void callsWhatIsNotOffered() {
        throw new AssertionError(
            "another exception than expected", new NotOfferedException("a fencing token"));
      }

      @Rule("EXCL-02")
      void isAborted() {
        Assumptions.abort("no second server");
      }
    }
  }

  private static Throwable thrownBy(String test, Status status) {
    List<Event> ended =
        EngineTestKit.engine("junit-jupiter")
            .selectors(
                DiscoverySelectors.selectNestedMethod(
                    List.of(Broken.class), Broken.Tests.class, test))
            .execute()
            .testEvents()
            .finished()
            .list();
    assertEquals(1, ended.size());
    TestExecutionResult result = ended.get(0).getRequiredPayload(TestExecutionResult.class);
    assertEquals(status, result.getStatus());
    return result.getThrowable().orElseThrow();
  }

  @Test
  void whatIsNotOfferedIsNoFailure() {
    Throwable thrown = thrownBy("callsWhatIsNotOffered", Status.ABORTED);
    assertEquals(NotOfferedException.class, thrown.getClass());
    assertEquals("a fencing token", thrown.getMessage());
  }

  @Test
  void aFailureSaysWhichRuleIsBrokenAndWhereToLook() {
    ContractRule rule = Contract.load().find("EXCL-02").orElseThrow();
    String message = String.valueOf(thrownBy("fails", Status.FAILED).getMessage());

    assertTrue(message.startsWith("two names, one lock\n"), message);
    assertTrue(message.contains("EXCL-02 " + rule.title()), message);
    assertTrue(message.contains("rule: " + rule.statement()), message);
    assertTrue(message.contains("why: " + rule.why()), message);
    assertTrue(message.contains("if this test fails, check: " + rule.check()), message);
    assertTrue(message.contains("docs/contract.md, EXCL-02"), message);
  }

  @Test
  void whatTheTestThrewIsTheCause() {
    Throwable cause = BrokenRule.observed(thrownBy("fails", Status.FAILED));
    assertEquals("two names, one lock", cause.getMessage());
  }

  @Test
  void aTestThatCannotBeCarriedOutStaysAborted() {
    assertEquals("no second server", thrownBy("isAborted", Status.ABORTED).getMessage());
  }
}
