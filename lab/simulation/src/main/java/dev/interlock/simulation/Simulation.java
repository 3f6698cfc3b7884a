package dev.interlock.simulation;

import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.simulation.workload.Plan;
import dev.interlock.spi.ClientsWithTimeSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Runs worlds, and reports failures with the seed that reproduces them. */
final class Simulation {

  private static final int MAX_LINES = 150;

  private Simulation() {}

  /** Runs a world, and returns a report of its failure; null if there is none. */
  static @Nullable String failureOf(Plan plan) {
    Failure failure = World.run(plan, null, false).failure();
    return failure == null ? null : report(plan, failure, null);
  }

  /** Finds a smaller world that breaks the same rule, and describes both. */
  static String report(Plan plan, Failure failure, World.@Nullable ClientOpener opener) {
    // Detecting a hang takes a minute, which is too long for shrinking.
    Plan shrunk =
        failure.rule().equals(Scheduler.HANG) ? plan : Shrinking.shrink(plan, failure, opener);
    World.Result traced = World.run(shrunk, opener, true);
    String test =
        plan.store() == Plan.Store.MEMORY
            ? "MutantsTest#theReferenceItselfIsWell"
            : "SimulationTest#freshSeeds";
    String head =
        """
        seed %d: %s
        repeat: ./verify --only %s -Dinterlock.seed=%d%s
        smaller, %d operations and %d faults on %s: %s
        """
            .formatted(
                plan.seed(),
                failure,
                test,
                plan.seed(),
                commit(),
                shrunk.operations(),
                shrunk.faults().size(),
                shrunk.store(),
                traced.failure());
    return traced.lines().stream()
        .skip(Math.max(0, traced.lines().size() - MAX_LINES))
        .map(line -> "  " + line + "\n")
        .collect(Collectors.joining("", head, ""));
  }

  /** {@return a note about the commit of the sources; empty outside of a checkout} */
  private static String commit() {
    try {
      Process git =
          new ProcessBuilder("git", "describe", "--always", "--dirty", "--exclude=*")
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String description =
          new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return description.isEmpty() ? "" : " # at commit " + description;
    } catch (IOException e) {
      return "";
    }
  }

  static World.ClientOpener onMemory(long seed) {
    return (options, time) -> ClientsWithTimeSource.open("memory:world-" + seed, options, time);
  }

  /**
   * Runs worlds from the command line: {@code FIRST COUNT [shrink|trace|first]}.
   *
   * @param args the first seed, the number of worlds, and how to treat failures: shrink them, trace
   *     all worlds, or end with the first failure
   */
  public static void main(String[] args) {
    long first = Long.parseLong(args[0]);
    long count = Long.parseLong(args[1]);
    String mode = args.length > 2 ? args[2] : "";
    boolean onMemory = Boolean.getBoolean("memory");
    long start = System.nanoTime();
    int failed = 0;
    long leases = 0;
    long operations = 0;
    long faults = 0;
    long nanos = 0;
    long steps = 0;
    for (long seed = first; seed < first + count; seed++) {
      World.ClientOpener opener = onMemory ? onMemory(seed) : null;
      Plan plan = onMemory ? Plan.of(seed, Plan.Store.MEMORY) : Plan.of(seed);
      World.Result result = World.run(plan, opener, mode.equals("trace"));
      result.lines().forEach(System.out::println);
      leases += result.leases();
      operations += plan.operations();
      faults += plan.faults().size();
      nanos += result.nanos();
      steps += result.steps();
      Failure failure = result.failure();
      if (failure != null) {
        failed++;
        System.out.println(
            mode.equals("shrink")
                ? report(plan, failure, opener)
                : seed + " " + plan.store() + " " + failure.toString().split("\n", 2)[0]);
        if (mode.equals("first")) {
          System.out.println("found in world " + (seed - first + 1));
          return;
        }
      }
    }
    System.out.printf(
        "%d worlds, %d failed, on average %d operations, %d faults, %d leases, %d simulated s; %d"
            + " steps, %d ms, %s of a processor%n",
        count,
        failed,
        operations / count,
        faults / count,
        leases / count,
        TimeUnit.NANOSECONDS.toSeconds(nanos / count),
        steps,
        (System.nanoTime() - start) / 1_000_000,
        ProcessHandle.current().info().totalCpuDuration().orElseThrow());
  }
}
