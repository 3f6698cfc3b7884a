package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.redlock.Admission.Reason;
import dev.interlock.redlock.Admission.Step;
import dev.interlock.redlock.NodeStatus.Kind;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The rules by which nodes may vote. */
class AdmissionTest {

  private static final NodeStatus BLANK = new NodeStatus(Kind.BLANK, "run", 0, 0);
  private static final NodeStatus RESTARTED = new NodeStatus(Kind.RESTARTED, "run", 3, 0);
  private static final NodeStatus WAITING = new NodeStatus(Kind.QUARANTINED, "run", 3, 500);
  private static final NodeStatus QUARANTINE_OVER = new NodeStatus(Kind.QUARANTINED, "run", 3, 0);

  private final Admission admission = new Admission(false);

  private static NodeStatus member(long floor) {
    return new NodeStatus(Kind.MEMBER, "other", floor, 0);
  }

  private List<Step> steps(NodeStatus... statuses) {
    return admission.stepsFor(List.of(statuses), Set.of("run"), false);
  }

  @Test
  void nodesOfWhichNoneHasEverVotedAreANewCluster() {
    assertEquals(List.of(founding(0), founding(1), founding(2)), steps(BLANK, BLANK, BLANK));
  }

  private static Step founding(int node) {
    return new Step.Admit(node, "run", 0, Reason.NEW_CLUSTER);
  }

  @Test
  void nodesThatWereNotBlankAtTheLastExaminationAreNotYetANewCluster() {
    List<NodeStatus> blank = List.of(BLANK, BLANK, BLANK);
    assertEquals(List.of(), admission.stepsFor(blank, Set.of(), false));
    assertEquals(Set.of("run"), Admission.candidates(blank));
  }

  @Test
  void nodesOfANewClusterAreCountedBeforeTheyVote() {
    NodeStatus uncounted = new NodeStatus(Kind.BLANK, "run", 0, 0, false);
    assertEquals(List.of(new Step.Count(1, "run")), steps(BLANK, uncounted, BLANK));
  }

  @Test
  void aMajorityThatIsBlankMayHaveForgottenALeaseIfTheOthersAreSilent() {
    Step first = new Step.Quarantine(0, "run");
    Step second = new Step.Quarantine(1, "run");
    List<NodeStatus> statuses = List.of(BLANK, BLANK, NodeStatus.UNREACHABLE);
    assertEquals(List.of(first, second), admission.stepsFor(statuses, Set.of("run"), false));
    assertEquals(List.of(), admission.stepsFor(statuses, Set.of("run"), true));
  }

  @Test
  void aMajorityThatIsBlankIsNoNewClusterWhereSomebodyHasVoted() {
    assertEquals(
        List.of(new Step.Quarantine(0, "run"), new Step.Quarantine(1, "run")),
        steps(BLANK, BLANK, member(9)));
  }

  @Test
  void aClusterThatIsBeingFoundedIsLeftToItsFounderForAWhile() {
    Step first = new Step.Quarantine(0, "run");
    Step second = new Step.Quarantine(1, "run");
    assertEquals(
        List.of(), admission.stepsFor(List.of(BLANK, BLANK, member(0)), Set.of("run"), true));
    assertEquals(List.of(first, second), steps(BLANK, BLANK, member(0)));
    assertEquals(
        List.of(), admission.stepsFor(List.of(BLANK, member(0), member(0)), Set.of("run"), true));
    assertEquals(List.of(first), steps(BLANK, member(0), member(0)));
  }

  @Test
  void aClusterInWhichSomebodyHasGrantedIsNotBeingFounded() {
    assertEquals(
        List.of(new Step.Quarantine(0, "run")),
        admission.stepsFor(List.of(BLANK, member(0), member(9)), Set.of("run"), true));
    assertEquals(
        List.of(new Step.Admit(0, "run", 9, Reason.QUARANTINE_OVER)),
        admission.stepsFor(List.of(QUARANTINE_OVER, member(0), member(9)), Set.of("run"), true));
  }

  @Test
  void aMinorityThatIsBlankGoesIntoQuarantine() {
    assertEquals(List.of(new Step.Quarantine(0, "run")), steps(BLANK, member(8), member(9)));
    assertEquals(
        List.of(new Step.Quarantine(0, "run")),
        steps(BLANK, NodeStatus.UNREACHABLE, NodeStatus.UNREACHABLE));
  }

  @Test
  void aRestartedNodeGoesIntoQuarantineUnlessItIsDurable() {
    assertEquals(List.of(new Step.Quarantine(0, "run")), steps(RESTARTED, member(8), member(9)));
    assertEquals(
        List.of(new Step.Admit(0, "run", 0, Reason.DATA_KEPT)),
        new Admission(true).stepsFor(List.of(RESTARTED, member(8), member(9)), Set.of(), false));
  }

  @Test
  void whoHasServedGetsTheHighestFloorOfAMajorityOfMembers() {
    assertEquals(
        List.of(new Step.Admit(0, "run", 9, Reason.QUARANTINE_OVER)),
        steps(QUARANTINE_OVER, member(8), member(9)));
  }

  @Test
  void whoHasNotServedWaits() {
    assertEquals(List.of(), steps(WAITING, member(8), member(9)));
  }

  @Test
  void floorsThatWereReadBeforeTheEndOfTheQuarantineDoNotCount() {
    assertEquals(
        List.of(),
        admission.stepsFor(
            List.of(QUARANTINE_OVER, member(8), member(9)), Set.of("another"), false));
  }

  @Test
  void aMinorityOfMembersIsNotEnough() {
    assertEquals(List.of(), steps(QUARANTINE_OVER, member(8), NodeStatus.UNREACHABLE));
    assertEquals(
        List.of(),
        steps(QUARANTINE_OVER, QUARANTINE_OVER, member(8), member(9), NodeStatus.UNREACHABLE));
  }

  @Test
  void whereNoMajorityOfMembersIsLeftTokensJump() {
    long floor = 8 + Admission.JUMP;
    assertEquals(
        List.of(
            new Step.Admit(0, "run", floor, Reason.QUARANTINE_OVER),
            new Step.Admit(1, "run", floor, Reason.QUARANTINE_OVER)),
        steps(QUARANTINE_OVER, QUARANTINE_OVER, member(8)));
  }
}
