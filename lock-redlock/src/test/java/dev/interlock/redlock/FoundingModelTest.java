package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.FoundingModel.Bounds;
import dev.interlock.redlock.FoundingModel.Rule;
import dev.interlock.redlock.FoundingModel.Step;
import dev.interlock.tck.sample.SomeTests;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Explores the founding of a cluster and restarts, in every order of events within bounds, with all
 * rules and without each. About 300,000 states.
 */
class FoundingModelTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final List<Integer> TWICE = List.of(2, 2);

  /** One client founds a cluster, and examines it again. */
  static final Bounds ONE = new Bounds(List.of(3), List.of(4), false, 1, 1, true);

  /** Two clients found a cluster, at the same time or one after the other. */
  static final Bounds TWO = new Bounds(List.of(3, 3), TWICE, false, 1, 1, true);

  /** One client lists a node that is one of three to another. */
  static final Bounds NUMBERS = new Bounds(List.of(1, 3), TWICE, false, 0, 2, true);

  static final Bounds RESTART = new Bounds(List.of(3), List.of(3), true, 1, 2, false);

  private static Exploration.Result<Step> explore(Bounds bounds) {
    return Exploration.explore(new FoundingModel(bounds, List.of(Rule.values())));
  }

  private static void assertBroken(Bounds bounds, Rule... left) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.removeAll(List.of(left));
    assertTrue(Exploration.isBroken(new FoundingModel(bounds, rules)));
  }

  @Test
  void noNodeFoundsAClusterThatHasForgottenALease() {
    assertEquals(Optional.empty(), explore(ONE).counterExample());
    Exploration.Result<Step> result = explore(TWO);
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 100_000, () -> "only " + result.states() + " states");
  }

  @Test
  void clientsWithListsOfTwoLengthsDoNotFoundTwoClusters() {
    assertEquals(Optional.empty(), explore(NUMBERS).counterExample());
  }

  @Test
  void noNodeVotesAfterARestartThatHasForgottenALeaseOrAToken() {
    assertEquals(Optional.empty(), explore(RESTART).counterExample());
  }

  @Test
  @Tag("extended")
  void clientsThatListThreeNodesAndFiveDoNotFoundTwoClusters() {
    Bounds five = new Bounds(List.of(3, 5), TWICE, false, 0, 2, true);
    assertEquals(Optional.empty(), explore(five).counterExample());
  }

  @Test
  void withAMajorityOfBlankNodesTakenForANewClusterOneVotesThatHasForgotten() {
    assertBroken(ONE, Rule.FOUNDED_BY_ALL);
  }

  @Test
  void withASingleExaminationTheFounderOfASecondClusterHasSeenThePast() {
    assertBroken(TWO, Rule.EXAMINED_TWICE, Rule.COUNTED_FIRST);
  }

  @Test
  @Tag("extended")
  void nodesThatHaveBeenCountedMayStillHaveBeenSeenInThePast() {
    assertBroken(TWO, Rule.EXAMINED_TWICE);
  }

  @Test
  void withNodesThatVoteBeforeAllAreCountedThereAreTwoClusters() {
    assertBroken(NUMBERS, Rule.COUNTED_FIRST);
  }

  @Test
  void withNodesThatVoteForAnyNumberThereAreTwoMajorities() {
    assertBroken(NUMBERS, Rule.NUMBER_CHECKED);
  }

  @Test
  void withoutQuarantineANodeVotesThatHasForgottenALease() {
    assertBroken(RESTART, Rule.QUARANTINE);
  }

  @Test
  void withTheFloorOfAMinorityTokensRepeat() {
    assertBroken(RESTART, Rule.FLOOR_OF_A_MAJORITY);
  }
}
