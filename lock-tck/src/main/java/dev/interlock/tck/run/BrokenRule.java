package dev.interlock.tck.run;

import dev.interlock.LeaseLostException;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.tck.process.NoAnswerException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * The failure of a rule's test, as JUnit and an IDE show it: the observation, the rule, its reason,
 * and where to look. The cause is the exception that the test threw.
 */
public final class BrokenRule extends AssertionFailedError {
  private static final long serialVersionUID = 1L;

  private static final Set<LossReason> UNRENEWED =
      Set.of(LossReason.EXPIRED, LossReason.SESSION_ENDED, LossReason.SUSPENDED);

  private BrokenRule(String message, Throwable observed) {
    super(message, observed);
  }

  private static Throwable of(List<String> ids, Throwable observed) {
    Contract contract = Contract.load();
    StringBuilder message = new StringBuilder(TestResults.reason(observed));
    ids.stream()
        .map(contract::find)
        .flatMap(Optional::stream)
        .forEach(
            rule ->
                message
                    .append("\n\n")
                    .append(rule.id() + " " + rule.title() + "\n")
                    .append("rule: " + rule.statement() + "\n")
                    .append(rule.without() == null ? "" : "without: " + rule.without() + "\n")
                    .append("why: " + rule.why() + "\n")
                    .append("if this test fails, check: " + rule.check() + "\n")
                    .append("more: docs/contract.md, " + rule.id()));
    return new BrokenRule(message.toString(), observed);
  }

  /** {@return the exception that a rule's test itself threw} */
  static Throwable observed(Throwable thrown) {
    Throwable cause = thrown.getCause();
    return thrown instanceof BrokenRule && cause != null ? cause : thrown;
  }

  /** The observation of machine or store that excuses a failure. */
  enum Excuse {
    NONE,
    /** A request was not answered, or a lease not renewed, so store or machine stood still. */
    STANDSTILL,
    /** Something came late, so the machine was slow. */
    SLOWNESS
  }

  static Excuse excuseOf(Throwable thrown) {
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (cause instanceof LateError || cause instanceof NoAnswerException) {
        return Excuse.SLOWNESS;
      }
      if (cause instanceof LeaseLostException lost && UNRENEWED.contains(lost.reason())) {
        return Excuse.STANDSTILL;
      }
      if (cause instanceof LockUnavailableException) {
        return RepeatedFailure.isMarked(cause) ? Excuse.NONE : Excuse.STANDSTILL;
      }
    }
    return Excuse.NONE;
  }

  /**
   * Turns the exception of a rule's test into a {@link BrokenRule}, unless the lock does not offer
   * the called operation, or the machine may have caused the failure.
   */
  public static final class Explanation implements TestExecutionExceptionHandler {
    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable thrown)
        throws Throwable {
      Optional<NotOfferedException> notOffered = NotOfferedException.in(thrown);
      if (notOffered.isPresent()) {
        throw notOffered.get();
      }
      Excuse excuse = excuseOf(thrown);
      Optional<String> slowness =
          excuse == Excuse.NONE
              ? Optional.empty()
              : Kit.slownessDuring(context, excuse == Excuse.SLOWNESS);
      if (slowness.isPresent()) {
        throw new NoVerdictException(slowness.get(), thrown);
      }
      List<String> rules =
          RuleTests.rulesOf(context.getRequiredTestClass(), context.getRequiredTestMethod());
      boolean broken = !(thrown instanceof TestAbortedException) && !rules.isEmpty();
      throw broken ? of(rules, thrown) : thrown;
    }
  }
}
