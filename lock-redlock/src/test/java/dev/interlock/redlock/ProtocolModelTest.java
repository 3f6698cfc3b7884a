package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.ProtocolModel.Bounds;
import dev.interlock.redlock.ProtocolModel.Property;
import dev.interlock.redlock.ProtocolModel.Rule;
import dev.interlock.redlock.ProtocolModel.Step;
import dev.interlock.tck.sample.SomeTests;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Explores the protocol in every order of events within bounds, with all rules and without each.
 * About 2 million states in all; states that differ only in the order of the nodes count once.
 */
class ProtocolModelTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  static final Bounds TOKENS = new Bounds(2, List.of(1), 0, 1, 2);
  static final Bounds SLOW = new Bounds(2, List.of(1), 0, 0, 2);
  static final Bounds EXCLUSION = new Bounds(2, List.of(1), 0, 1, 2);
  private static final Bounds CLOCKS = new Bounds(2, List.of(1, 4), 0, 0, 2);
  private static final Bounds LOST = new Bounds(2, List.of(1), 1, 0, 1);
  private static final Bounds RESTART = new Bounds(2, List.of(1), 0, 1, 1);

  private static Exploration.Result<Step> explore(Property property, Bounds bounds) {
    return Exploration.explore(new ProtocolModel(property, bounds, List.of(Rule.values())));
  }

  /** Explores the protocol without a rule. */
  static Exploration.Result<Step> exploreWithout(Rule left, Property property, Bounds bounds) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.remove(left);
    return Exploration.exploreBroken(new ProtocolModel(property, bounds, rules));
  }

  private static void assertBroken(Property property, Bounds bounds, Rule left) {
    assertTrue(exploreWithout(left, property, bounds).counterExample().isPresent());
  }

  private static void assertTokensRise(Bounds bounds) {
    Exploration.Result<Step> result = explore(Property.TOKENS_RISE, bounds);
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 100_000, () -> "only " + result.states() + " states");
  }

  @Test
  void tokensRiseWhateverClocksSay() {
    assertTokensRise(CLOCKS);
  }

  @Test
  void tokensRiseWhereFencesGetLost() {
    assertTokensRise(LOST);
  }

  @Test
  void tokensRiseAcrossAnEmptyRestart() {
    assertTokensRise(RESTART);
  }

  @Test
  @Tag("extended")
  void tokensRiseWhateverClocksSayAndFencesGetLost() {
    assertTokensRise(new Bounds(2, List.of(1, 4), 1, 0, 2));
  }

  @Test
  @Tag("extended")
  void tokensRiseAcrossAnEmptyRestartOfNodesThatDifferMore() {
    assertTokensRise(TOKENS);
  }

  @Test
  void twoNeverHoldTheLockAtOnce() {
    Exploration.Result<Step> result = explore(Property.EXCLUSION, EXCLUSION);
    assertEquals(Optional.empty(), result.counterExample());
  }

  @Test
  void withoutTheWriteBackTokensGoBack() {
    assertBroken(Property.TOKENS_RISE, TOKENS, Rule.WRITE_BACK);
  }

  @Test
  void withAWriteBackThatIsNotWaitedForTokensGoBack() {
    assertBroken(Property.TOKENS_RISE, TOKENS, Rule.CONFIRMED_BY_MAJORITY);
  }

  @Test
  void withLateGrantsAboveTheTokenCountedTokensRepeat() {
    assertBroken(Property.TOKENS_RISE, SLOW, Rule.NO_GRANT_ABOVE_THE_TOKEN);
  }

  @Test
  void ifAWithdrawalLoweredTheFenceOfALaterGrantATokenWouldBeForgotten() {
    assertBroken(Property.TOKENS_RISE, SLOW, Rule.NO_FENCE_OF_OTHERS_LOWERED);
  }

  @Test
  void withoutTheFloorsOfTheOthersTokensGoBackAfterAnEmptyRestart() {
    assertBroken(Property.TOKENS_RISE, TOKENS, Rule.FLOOR_TAKEN_OVER);
  }

  @Test
  void withoutQuarantineTokensGoBackAfterAnEmptyRestart() {
    assertBroken(Property.TOKENS_RISE, TOKENS, Rule.QUARANTINE);
  }

  @Test
  void withoutQuarantineTwoHoldTheLockAfterAnEmptyRestart() {
    assertBroken(Property.EXCLUSION, EXCLUSION, Rule.QUARANTINE);
  }
}
