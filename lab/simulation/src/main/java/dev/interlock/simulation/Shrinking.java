package dev.interlock.simulation;

import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.workload.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Finds a smaller plan that breaks the same rule. */
final class Shrinking {

  /** Less than the time-out of JUnit, whose message would hide the failure. */
  private static final long MAX_NANOS = TimeUnit.MINUTES.toNanos(2);

  private final Failure failure;
  private final World.@Nullable ClientOpener opener;
  private final long startedAt = System.nanoTime();
  private Plan best;

  private Shrinking(Plan plan, Failure failure, World.@Nullable ClientOpener opener) {
    this.best = plan;
    this.failure = failure;
    this.opener = opener;
  }

  static Plan shrink(Plan plan, Failure failure, World.@Nullable ClientOpener opener) {
    Shrinking shrinking = new Shrinking(plan, failure, opener);
    int previousSize;
    do {
      previousSize = shrinking.size();
      shrinking.shrinkFaults();
      shrinking.shrinkOperations();
    } while (shrinking.size() < previousSize && shrinking.hasTime());
    return shrinking.best;
  }

  private int size() {
    return best.operations() + best.faults().size();
  }

  private boolean hasTime() {
    return System.nanoTime() - startedAt < MAX_NANOS;
  }

  private void keepIfFailing(Plan plan) {
    if (hasTime()) {
      Failure found = World.run(plan, opener, false).failure();
      if (found != null && found.rule().equals(failure.rule())) {
        best = plan;
      }
    }
  }

  private void shrinkFaults() {
    shrinkList(() -> best.faults(), shorter -> with(best.programs(), shorter));
  }

  private void shrinkOperations() {
    for (int client = 0; client < best.clients(); client++) {
      for (int thread = 0; thread < best.programs().get(client).size(); thread++) {
        int c = client;
        int t = thread;
        shrinkList(
            () -> best.programs().get(c).get(t),
            ops -> {
              List<List<List<Plan.Op>>> programs = new ArrayList<>();
              best.programs().forEach(threads -> programs.add(new ArrayList<>(threads)));
              programs.get(c).set(t, ops);
              return with(programs, best.faults());
            });
      }
    }
  }

  /** Leaves out parts of a list, long ones first, as long as the world still fails. */
  private <T> void shrinkList(Supplier<List<T>> list, Function<List<T>, Plan> with) {
    for (int length = list.get().size(); length > 0; length /= 2) {
      for (int from = list.get().size() - length; from >= 0; from -= length) {
        if (from + length <= list.get().size()) {
          List<T> shorter = new ArrayList<>(list.get());
          shorter.subList(from, from + length).clear();
          keepIfFailing(with.apply(shorter));
        }
      }
    }
  }

  private Plan with(List<List<List<Plan.Op>>> programs, List<Plan.PlannedFault> faults) {
    return new Plan(best.seed(), best.store(), best.setting(), programs, faults);
  }
}
