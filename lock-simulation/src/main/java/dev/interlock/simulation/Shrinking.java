package dev.interlock.simulation;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds a smaller plan that fails by the same rule. */
final class Shrinking {

  private static final int MOST_RUNS = 300;

  private final Failure failure;
  private final World.@Nullable ClientOpener opener;
  private Plan best;
  private int runs;

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
    } while (shrinking.size() < before && shrinking.runs < MOST_RUNS);
    return shrinking.best;
  }

  private int size() {
    return best.operations() + best.faults().size();
  }

  private boolean failsAs(Plan plan) {
    if (runs++ >= MOST_RUNS) {
      return false;
    }
    Failure found = World.run(plan, opener, false).failure();
    if (found == null || !found.rule().equals(failure.rule())) {
      return false;
    }
    best = plan;
    return true;
  }

  private void faults() {
    for (int length = best.faults().size(); length > 0; length /= 2) {
      for (int from = best.faults().size() - length; from >= 0; from -= length) {
        if (from + length <= best.faults().size()) {
          List<Plan.PlannedFault> fewer = new ArrayList<>(best.faults());
          fewer.subList(from, from + length).clear();
          var unused = failsAs(with(best.programs(), fewer));
        }
      }
    }
  }

  private void operations() {
    for (int client = 0; client < best.clients(); client++) {
      for (int thread = 0; thread < best.programs().get(client).size(); thread++) {
        for (int length = ops(client, thread).size(); length > 0; length /= 2) {
          for (int from = ops(client, thread).size() - length; from >= 0; from -= length) {
            if (from + length <= ops(client, thread).size()) {
              List<Plan.Op> fewer = new ArrayList<>(ops(client, thread));
              fewer.subList(from, from + length).clear();
              var unused = failsAs(with(replaced(client, thread, fewer), best.faults()));
            }
          }
        }
      }
    }
  }

  private List<Plan.Op> ops(int client, int thread) {
    return best.programs().get(client).get(thread);
  }

  private List<List<List<Plan.Op>>> replaced(int client, int thread, List<Plan.Op> ops) {
    List<List<List<Plan.Op>>> programs = new ArrayList<>();
    for (List<List<Plan.Op>> threads : best.programs()) {
      programs.add(new ArrayList<>(threads));
    }
    programs.get(client).set(thread, ops);
    return programs;
  }

  private Plan with(List<List<List<Plan.Op>>> programs, List<Plan.PlannedFault> faults) {
    return new Plan(best.seed(), best.store(), best.setting(), programs, faults);
  }
}
