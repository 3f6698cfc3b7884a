package dev.interlock.simulation;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Runs worlds, and shows what it found so that it can be repeated. */
final class Simulation {

  private Simulation() {}

  /**
   * Runs the world of a seed; if it fails, finds a smaller one that fails in the same way.
   *
   * @return null if all was well
   */
  static @Nullable String findFailure(long seed, World.Mutation mutation) {
    World.Result result = World.run(Plan.of(seed), mutation, false);
    Failure failure = result.failure();
    return failure == null ? null : report(seed, failure, mutation);
  }

  static String report(long seed, Failure failure, World.Mutation mutation) {
    Plan small = Shrinking.shrink(Plan.of(seed), failure, mutation);
    World.Result shown = World.run(small, mutation, true);
    StringBuilder text = new StringBuilder();
    text.append("seed ").append(seed).append(": ").append(failure).append('\n');
    text.append("repeat: ./verify --only SimulationTest -Dinterlock.seed=").append(seed);
    text.append("\nsmaller, ").append(small.operations()).append(" operations and ");
    text.append(small.blows().size()).append(" faults on ").append(small.store()).append(": ");
    text.append(shown.failure()).append('\n');
    List<String> lines = shown.lines();
    int from = Math.max(0, lines.size() - 120);
    for (String line : new ArrayList<>(lines.subList(from, lines.size()))) {
      text.append("  ").append(line).append('\n');
    }
    return text.toString();
  }

  /** For a look at worlds from the command line: the first seed, and how many. */
  public static void main(String[] args) {
    long first = Long.parseLong(args[0]);
    long count = Long.parseLong(args[1]);
    boolean shrink = args.length > 2 && args[2].equals("shrink");
    long start = System.nanoTime();
    int failed = 0;
    long leases = 0;
    long steps = 0;
    for (long seed = first; seed < first + count; seed++) {
      World.Result result =
          World.run(Plan.of(seed), World.NONE, args.length > 2 && args[2].equals("trace"));
      result.lines().forEach(System.out::println);
      leases += result.leases();
      steps += result.steps();
      if (Boolean.getBoolean("steps")) {
        System.out.println(seed + " " + result.plan().store() + " steps " + result.steps() + " leases " + result.leases() + " ops " + result.plan().operations()+ " requests "+result.requests());
      }
      Failure failure = result.failure();
      if (failure != null) {
        failed++;
        System.out.println(
            shrink
                ? report(seed, failure, World.NONE)
                : seed
                    + " "
                    + result.plan().store()
                    + " "
                    + failure.toString().lines().findFirst().orElse(""));
      }
    }
    System.out.printf(
        "%d worlds, %d failed, %d leases, %d steps, %d ms, %s of a processor%n",
        count, failed, leases, steps, (System.nanoTime() - start) / 1_000_000,
        ProcessHandle.current().info().totalCpuDuration().orElseThrow());
  }
}
