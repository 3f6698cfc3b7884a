package dev.interlock.storm.nemesis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.BackendInfoBuilder;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The schedule follows from its arguments, and respects the failure model. */
class PlanTest {
  private static final Duration WHOLE = Duration.ofMinutes(10);

  /** The failure model of a single Redis. */
  private static final FailureModel MODEL =
      BackendInfoBuilder.of("test", "")
          .guarantee(
              Guarantee.EXCLUSION_AND_TOKENS,
              Fault.CLIENT_KILLED,
              Fault.CLIENT_STOPPED,
              Fault.CONNECTION_LOST,
              Fault.PARTITION,
              Fault.SERVER_STOPPED,
              Fault.SERVER_RESTARTED)
          .guarantee(
              Guarantee.TOKENS_ONLY,
              Fault.SERVER_RESTARTED_EMPTY,
              Fault.SERVER_CLOCK_STEPPED,
              Fault.FORCED_RELEASE)
          .build()
          .failureModel();

  private static final PossibleFaults EVERYTHING =
      new PossibleFaults(
          MODEL,
          List.of(
              FaultKind.STOP_SERVER,
              FaultKind.RESTART_SERVER,
              FaultKind.EMPTY_SERVER,
              FaultKind.STEP_CLOCK,
              FaultKind.DELETE),
          List.of(
              List.of(FaultKind.KILL_CLIENT, FaultKind.STOP_CLIENT, FaultKind.PARTITION),
              List.of(FaultKind.KILL_CLIENT, FaultKind.STOP_CLIENT, FaultKind.RESET),
              List.of(FaultKind.CUT, FaultKind.DELAY)));

  @Test
  void theSameSeedMakesTheSamePlan() {
    assertEquals(Plan.of(42, WHOLE, EVERYTHING), Plan.of(42, WHOLE, EVERYTHING));
    assertNotEquals(Plan.of(42, WHOLE, EVERYTHING), Plan.of(43, WHOLE, EVERYTHING));
  }

  @Test
  void everyPossibleFaultIsPlanned() {
    Set<FaultKind> planned = EnumSet.noneOf(FaultKind.class);
    for (long seed = 0; seed < 2; seed++) {
      planned.addAll(kinds(Plan.of(seed, WHOLE, EVERYTHING).faults()));
    }
    Set<FaultKind> available = EnumSet.copyOf(EVERYTHING.store());
    EVERYTHING.lanes().forEach(available::addAll);
    assertEquals(available, planned);
  }

  @Test
  void faultsBeyondTheModelComeInTheLastPartOnly() {
    for (long seed = 0; seed < 50; seed++) {
      Plan plan = Plan.of(seed, WHOLE, EVERYTHING);
      assertTrue(plan.beyondAt().compareTo(WHOLE.dividedBy(2)) > 0);
      for (PlannedFault fault : plan.faults()) {
        assertTrue(
            EVERYTHING.covers(fault.kind()) || fault.at().compareTo(plan.beyondAt()) >= 0,
            () -> fault + " is not covered, and comes before " + plan.beyondAt());
      }
    }
  }

  @Test
  void aPlanWithinTheModelHasNoOtherFaults() {
    for (long seed = 0; seed < 50; seed++) {
      Plan plan = Plan.of(seed, WHOLE, EVERYTHING.withinModel());
      assertTrue(plan.faults().stream().allMatch(fault -> EVERYTHING.covers(fault.kind())));
      assertEquals(WHOLE, plan.beyondAt());
    }
  }

  @Test
  void onlyFaultsOfDifferentLanesOverlap() {
    for (long seed = 0; seed < 50; seed++) {
      List<PlannedFault> faults = Plan.of(seed, WHOLE, EVERYTHING).faults();
      for (int lane = Plan.STORE; lane < EVERYTHING.clients(); lane++) {
        Duration free = Duration.ZERO;
        for (PlannedFault fault : faults) {
          if (fault.client() == lane) {
            assertTrue(fault.at().compareTo(free) > 0, fault + " begins before " + free);
            free = fault.at().plus(fault.duration());
          }
        }
        assertTrue(free.compareTo(WHOLE) <= 0, "the last fault ends at " + free);
      }
    }
  }

  @Test
  void aClientHasOnlyItsPossibleFaults() {
    for (PlannedFault fault : Plan.of(7, WHOLE, EVERYTHING).faults()) {
      List<FaultKind> lane =
          fault.client() == Plan.STORE
              ? EVERYTHING.store()
              : EVERYTHING.lanes().get(fault.client());
      assertTrue(lane.contains(fault.kind()), fault::toString);
    }
  }

  @Test
  void aPlanThatStepsClocksEmptiesNoServers() {
    for (long seed = 0; seed < 50; seed++) {
      Set<FaultKind> planned = kinds(Plan.of(seed, WHOLE, EVERYTHING).faults());
      assertFalse(
          planned.contains(FaultKind.STEP_CLOCK) && planned.contains(FaultKind.EMPTY_SERVER),
          "" + seed);
    }
  }

  @Test
  void noFaultIsPlannedInQuietTimes() {
    List<PlannedFault> faults = Plan.of(3, WHOLE, EVERYTHING).faults();
    for (long second = 25; second < WHOLE.toSeconds(); second += 30) {
      Duration quiet = Duration.ofSeconds(second);
      assertTrue(
          faults.stream()
              .noneMatch(
                  fault ->
                      fault.at().compareTo(quiet) < 0
                          && fault.at().plus(fault.duration()).compareTo(quiet) > 0),
          () -> "not quiet at " + quiet);
    }
  }

  @Test
  void everyDurationIsWithinTheLimitsOfItsKind() {
    for (FaultKind kind : FaultKind.values()) {
      assertTrue(kind.minDuration().compareTo(kind.maxDuration()) <= 0, kind::name);
      assertTrue(kind.weight() > 0, kind::name);
    }
    for (PlannedFault fault : Plan.of(5, WHOLE, EVERYTHING).faults()) {
      assertTrue(fault.duration().compareTo(fault.kind().minDuration()) >= 0, fault::toString);
      assertTrue(fault.duration().compareTo(fault.kind().maxDuration()) <= 0, fault::toString);
    }
  }

  @Test
  void aPlanWithoutPossibleFaultsIsEmpty() {
    PossibleFaults nothing = new PossibleFaults(MODEL, List.of(), List.of(List.of()));
    assertEquals(List.of(), Plan.of(1, WHOLE, nothing).faults());
  }

  @Test
  void labelsAreDistinct() {
    Set<String> labels =
        Arrays.stream(FaultKind.values()).map(FaultKind::label).collect(Collectors.toSet());
    assertEquals(FaultKind.values().length, labels.size());
  }

  private static Set<FaultKind> kinds(List<PlannedFault> faults) {
    Set<FaultKind> kinds = EnumSet.noneOf(FaultKind.class);
    faults.forEach(fault -> kinds.add(fault.kind()));
    return kinds;
  }
}
