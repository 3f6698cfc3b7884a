package dev.interlock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The schedule follows from its arguments, and keeps to what the failure model covers. */
class PlanTest {
  private static final Duration WHOLE = Duration.ofMinutes(10);

  /** As a single Redis declares it. */
  private static final FailureModel MODEL =
      FailureModel.builder()
          .under(
              Survives.EXCLUSION_AND_TOKENS,
              Fault.CLIENT_KILLED,
              Fault.CLIENT_STOPPED,
              Fault.CONNECTION_LOST,
              Fault.PARTITION,
              Fault.SERVER_STOPPED,
              Fault.SERVER_RESTARTED)
          .under(
              Survives.TOKENS_ONLY,
              Fault.SERVER_RESTARTED_EMPTY,
              Fault.SERVER_CLOCK_STEPPED,
              Fault.FORCED_RELEASE)
          .build();

  private static final FaultCatalog EVERYTHING =
      new FaultCatalog(
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
  void everythingThatCanBeDoneIsDoneSomeTime() {
    Set<FaultKind> done = EnumSet.noneOf(FaultKind.class);
    for (long seed = 0; seed < 2; seed++) {
      done.addAll(kinds(Plan.of(seed, WHOLE, EVERYTHING).steps()));
    }
    Set<FaultKind> available = EnumSet.copyOf(EVERYTHING.store());
    EVERYTHING.lanes().forEach(available::addAll);
    assertEquals(available, done);
  }

  @Test
  void blowsBeyondTheModelComeInTheLastPartOnly() {
    for (long seed = 0; seed < 50; seed++) {
      Plan plan = Plan.of(seed, WHOLE, EVERYTHING);
      assertTrue(plan.beyondAt().compareTo(WHOLE.dividedBy(2)) > 0);
      for (PlannedFault step : plan.steps()) {
        assertTrue(
            EVERYTHING.covers(step.kind()) || step.at().compareTo(plan.beyondAt()) >= 0,
            () -> step + " is not covered, and comes before " + plan.beyondAt());
      }
    }
  }

  @Test
  void withinTheModelNothingElseIsDone() {
    for (long seed = 0; seed < 50; seed++) {
      Plan plan = Plan.of(seed, WHOLE, EVERYTHING.withinModel());
      assertTrue(plan.steps().stream().allMatch(step -> EVERYTHING.covers(step.kind())));
      assertEquals(WHOLE, plan.beyondAt());
    }
  }

  @Test
  void onlyBlowsOfDifferentLanesCoincide() {
    for (long seed = 0; seed < 50; seed++) {
      List<PlannedFault> steps = Plan.of(seed, WHOLE, EVERYTHING).steps();
      for (int lane = Plan.STORE; lane < EVERYTHING.clients(); lane++) {
        Duration free = Duration.ZERO;
        for (PlannedFault step : steps) {
          if (step.client() == lane) {
            assertTrue(step.at().compareTo(free) > 0, step + " begins before " + free);
            free = step.at().plus(step.lasting());
          }
        }
        assertTrue(free.compareTo(WHOLE) <= 0, "the last fault ends at " + free);
      }
    }
  }

  @Test
  void aClientSuffersOnlyWhatCanBeDoneToIt() {
    for (PlannedFault step : Plan.of(7, WHOLE, EVERYTHING).steps()) {
      List<FaultKind> lane =
          step.client() == Plan.STORE ? EVERYTHING.store() : EVERYTHING.lanes().get(step.client());
      assertTrue(lane.contains(step.kind()), step::toString);
    }
  }

  @Test
  void countersAreNotLostInAStormThatStepsClocks() {
    for (long seed = 0; seed < 50; seed++) {
      Set<FaultKind> done = kinds(Plan.of(seed, WHOLE, EVERYTHING).steps());
      assertFalse(
          done.contains(FaultKind.STEP_CLOCK) && done.contains(FaultKind.EMPTY_SERVER), "" + seed);
    }
  }

  @Test
  void everybodyIsLeftAloneEverySoOften() {
    List<PlannedFault> steps = Plan.of(3, WHOLE, EVERYTHING).steps();
    for (long second = 25; second < WHOLE.toSeconds(); second += 30) {
      Duration calm = Duration.ofSeconds(second);
      assertTrue(
          steps.stream()
              .noneMatch(
                  step ->
                      step.at().compareTo(calm) < 0
                          && step.at().plus(step.lasting()).compareTo(calm) > 0),
          () -> "no calm at " + calm);
    }
  }

  @Test
  void everyKindLastsNoLongerThanItMay() {
    for (FaultKind kind : FaultKind.values()) {
      assertTrue(kind.shortest().compareTo(kind.longest()) <= 0, kind::name);
      assertTrue(kind.weight() > 0, kind::name);
    }
    for (PlannedFault step : Plan.of(5, WHOLE, EVERYTHING).steps()) {
      assertTrue(step.lasting().compareTo(step.kind().shortest()) >= 0, step::toString);
      assertTrue(step.lasting().compareTo(step.kind().longest()) <= 0, step::toString);
    }
  }

  @Test
  void nothingAvailableMeansNothingPlanned() {
    FaultCatalog nothing = new FaultCatalog(MODEL, List.of(), List.of(List.of()));
    assertEquals(List.of(), Plan.of(1, WHOLE, nothing).steps());
  }

  @Test
  void labelsAreDistinct() {
    Set<String> labels =
        Arrays.stream(FaultKind.values()).map(FaultKind::label).collect(Collectors.toSet());
    assertEquals(FaultKind.values().length, labels.size());
  }

  private static Set<FaultKind> kinds(List<PlannedFault> steps) {
    Set<FaultKind> kinds = EnumSet.noneOf(FaultKind.class);
    steps.forEach(step -> kinds.add(step.kind()));
    return kinds;
  }
}
