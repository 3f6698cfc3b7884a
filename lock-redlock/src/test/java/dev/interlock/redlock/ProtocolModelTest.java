package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.ProtocolModel.Bounds;
import dev.interlock.redlock.ProtocolModel.Property;
import dev.interlock.redlock.ProtocolModel.Result;
import dev.interlock.redlock.ProtocolModel.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * The protocol in every order of events, within bounds, and what happens without its rules. About 2
 * million states, the order of the nodes left out of account.
 */
class ProtocolModelTest {

  static final Bounds TOKENS = new Bounds(2, List.of(1), 0, 1);
  static final Bounds SLOW = new Bounds(2, List.of(1), 0, 0);
  static final Bounds CLOCKS = new Bounds(2, List.of(1, 4), 1, 0);
  static final Bounds EXCLUSION = new Bounds(2, List.of(1), 0, 1);

  /** Explores the protocol without some of its rules. */
  static Result explore(Property property, Bounds bounds, Rule... left) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.removeAll(List.of(left));
    return new ProtocolModel(property, bounds, rules).explore();
  }

  @Test
  void tokensRiseWhateverClocksSayAndFencesGetLost() {
    Result result = explore(Property.TOKENS_RISE, CLOCKS);
    assertEquals(Optional.empty(), result.counterExample());
  }

  @Test
  void tokensRiseAcrossAnEmptyRestart() {
    Result result = explore(Property.TOKENS_RISE, TOKENS);
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 100_000, () -> "only " + result.states() + " states");
  }

  @Test
  void twoNeverHoldTheLockAtOnce() {
    Result result = explore(Property.EXCLUSION, EXCLUSION);
    assertEquals(Optional.empty(), result.counterExample());
  }

  @Test
  void withoutTheWriteBackTokensGoBack() {
    assertTrue(explore(Property.TOKENS_RISE, TOKENS, Rule.WRITE_BACK).counterExample().isPresent());
  }

  @Test
  void withAWriteBackThatIsNotWaitedForTokensGoBack() {
    assertTrue(
        explore(Property.TOKENS_RISE, TOKENS, Rule.CONFIRMED_BY_MAJORITY)
            .counterExample()
            .isPresent());
  }

  @Test
  void withLateGrantsAboveTheTokenCountedTokensRepeat() {
    assertTrue(
        explore(Property.TOKENS_RISE, SLOW, Rule.NO_GRANT_ABOVE_THE_TOKEN)
            .counterExample()
            .isPresent());
  }

  @Test
  void withVotesTakenBackAfterAnothersGrantATokenIsForgotten() {
    assertTrue(
        explore(Property.TOKENS_RISE, SLOW, Rule.NO_FENCE_OF_OTHERS_LOWERED)
            .counterExample()
            .isPresent());
  }

  @Test
  void withoutTheFloorsOfTheOthersTokensGoBackAfterAnEmptyRestart() {
    assertTrue(
        explore(Property.TOKENS_RISE, TOKENS, Rule.FLOOR_TAKEN_OVER).counterExample().isPresent());
  }

  @Test
  void withoutQuarantineTokensGoBackAfterAnEmptyRestart() {
    assertTrue(explore(Property.TOKENS_RISE, TOKENS, Rule.QUARANTINE).counterExample().isPresent());
  }

  @Test
  void withoutQuarantineTwoHoldTheLockAfterAnEmptyRestart() {
    assertTrue(
        explore(Property.EXCLUSION, EXCLUSION, Rule.QUARANTINE).counterExample().isPresent());
  }
}
