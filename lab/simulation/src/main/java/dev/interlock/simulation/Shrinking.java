package dev.interlock.simulation;

import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.workload.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Finds a smaller plan that fails by the same rule. */
final class Shrinking {

  /** The time limit. It is shorter than JUnit's, whose message would hide the failure found. */
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
    int before;
    do {
      before = shrinking.size();
      shrinking.faults();
      shrinking.operations();
    } while (shrinking.size() < before && shrinking.hasTime());
    return shrinking.best;
  }

  private int size() {
    return best.operations() + best.faults().size();
  }

  private boolean hasTime() {
    return System.nanoTime() - startedAt < MAX_NANOS;
  }

  private void tryOut(Plan plan) {
    if (hasTime()) {
      Failure found = World.run(plan, opener, false).failure();
      if (found != null && found.rule().equals(failure.rule())) {
        best = plan;
      }
    }
  }

  private void faults() {
    fewer(() -> best.faults(), fewer -> with(best.programs(), fewer));
  }

  private void operations() {
    for (int client = 0; client < best.clients(); client++) {
      for (int thread = 0; thread < best.programs().get(client).size(); thread++) {
        int c = client;
        int t = thread;
        fewer(
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

  /** Leaves out parts of a list of the best plan, long ones first, while the world still fails. */
  private <T> void fewer(Supplier<List<T>> list, Function<List<T>, Plan> with) {
    for (int length = list.get().size(); length > 0; length /= 2) {
      for (int from = list.get().size() - length; from >= 0; from -= length) {
        if (from + length <= list.get().size()) {
          List<T> fewer = new ArrayList<>(list.get());
          fewer.subList(from, from + length).clear();
          tryOut(with.apply(fewer));
        }
      }
    }
  }

  private Plan with(List<List<List<Plan.Op>>> programs, List<Plan.PlannedFault> faults) {
    return new Plan(best.seed(), best.store(), best.setting(), programs, faults);
  }
}
