package dev.interlock.tck.run;

import java.util.List;
import java.util.Optional;
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

  /**
   * Turns the exception of a rule's test into a {@link BrokenRule}, unless the lock does not offer
   * the called operation.
   */
  public static final class Explanation implements TestExecutionExceptionHandler {
    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable thrown)
        throws Throwable {
      Optional<NotOfferedException> notOffered = NotOfferedException.in(thrown);
      if (notOffered.isPresent()) {
        throw notOffered.get();
      }
      List<String> rules =
          RuleTests.rulesOf(context.getRequiredTestClass(), context.getRequiredTestMethod());
      boolean broken = !(thrown instanceof TestAbortedException) && !rules.isEmpty();
      throw broken ? of(rules, thrown) : thrown;
    }
  }
}
