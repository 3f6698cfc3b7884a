package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.RenewalModel.Bounds;
import dev.interlock.redlock.RenewalModel.Rule;
import dev.interlock.redlock.RenewalModel.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Explores renewing and restoring in every order of events within bounds, with all rules and
 * without each. About 5 million states; states that differ only in the order of the nodes count
 * once.
 */
class RenewalModelTest {

  /** The lease has no rival. */
  static final Bounds ALONE = new Bounds(false, false, 3, false, false, 0, 0);

  /** Bounds with another attempt, and with a node that lacks the lock. */
  static final Bounds CONTESTED = new Bounds(false, true, 1, false, false, 0, 0);

  /** Another attempt, a node that lacks the lock, and one more renewal. */
  static final Bounds CONTESTED_TWICE = new Bounds(false, true, 2, false, false, 0, 0);

  /** Another attempt, a node that lacks the lock, and renewals that arrive late. */
  static final Bounds LATE = new Bounds(false, true, 2, true, false, 0, 0);

  /** Another attempt, and a node that loses everything. */
  static final Bounds RESTART = new Bounds(false, true, 1, false, false, 0, 1);

  /** The lock is deleted on all nodes, and there is no other attempt. */
  static final Bounds DELETED = new Bounds(true, false, 4, false, true, 0, 0);

  private static Exploration.Result<Step> explore(Bounds bounds) {
    return Exploration.explore(new RenewalModel(bounds, List.of(Rule.values())));
  }

  private static void assertBroken(Bounds bounds, Rule... left) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.removeAll(List.of(left));
    assertTrue(Exploration.isBroken(new RenewalModel(bounds, rules)));
  }

  private static void assertSound(Bounds bounds) {
    assertEquals(Optional.empty(), explore(bounds).counterExample());
  }

  @Test
  void aRestoredLeaseExcludesOthersWhileItIsCertain() {
    Exploration.Result<Step> result = explore(CONTESTED);
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 100_000, () -> "only " + result.states() + " states");
  }

  @Test
  @Tag("extended")
  void aLeaseThatIsRestoredTwiceExcludesOthersWhileItIsCertain() {
    assertSound(CONTESTED_TWICE);
  }

  @Test
  @Tag("extended")
  void lateRenewalsExcludeOthersToo() {
    assertSound(LATE);
  }

  @Test
  void aNodeThatLostEverythingExcludesOthersWhileALeaseIsRenewed() {
    assertSound(RESTART);
  }

  @Test
  @Tag("extended")
  void aNodeThatLostEverythingExcludesOthersWhereRenewalsAreLate() {
    assertSound(new Bounds(false, true, 1, true, false, 0, 1));
  }

  @Test
  @Tag("extended")
  void whereLocksAreDeletedTokensRise() {
    assertSound(new Bounds(false, true, 2, false, true, 0, 0));
  }

  @Test
  void whatIsLostEverywhereDoesNotComeBack() {
    assertSound(ALONE);
    assertSound(DELETED);
  }

  @Test
  void aLeaseThatHasEndedWouldTakeNodesFromOthers() {
    assertBroken(ALONE, Rule.RESTORED_ONLY_WHILE_CERTAIN);
  }

  @Test
  void ifRestoringCountedAtOnceWhatIsLostWouldComeBack() {
    assertBroken(DELETED, Rule.RESTORED_DO_NOT_COUNT);
  }

  @Test
  void ifAMajorityThatLacksItDidNotMatterWhatIsLostWouldComeBack() {
    assertBroken(DELETED, Rule.NOT_IF_A_MAJORITY_LACKS_IT);
  }

  @Test
  void ifNodesCountedAsSoonAsTheyAreGivenItWhatIsLostWouldComeBack() {
    assertBroken(DELETED, Rule.GIVEN_COUNT_AS_LACKING);
  }

  @Test
  @Tag("extended")
  void ifLaterTokensDidNotMatterALeaseWouldComeBackAfterAnother() {
    assertBroken(LATE, Rule.NOT_BELOW_A_LATER_TOKEN);
  }

  @Test
  void withoutQuarantineAnotherIsLetIn() {
    assertBroken(RESTART, Rule.QUARANTINE);
  }

  @Test
  void withoutTheFloorsOfTheOthersTokensGoBack() {
    assertBroken(RESTART, Rule.FLOOR_TAKEN_OVER);
  }
}
