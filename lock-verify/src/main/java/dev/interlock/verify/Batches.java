package dev.interlock.verify;

import static java.util.Comparator.comparing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Groups suites that share a JVM. A slow suite has its own; the quick ones of a module share one,
 * because starting a JVM takes longer than most of them. Repetitions of a suite do not share one:
 * what its static fields hold is made once in a JVM, and closed at the suite's end.
 */
final class Batches {
  private static final Duration SLOW = Duration.ofSeconds(5);
  private static final Duration LONGEST = Duration.ofSeconds(20);

  private Batches() {}

  /** Returns the batches, the one that is expected to take longest first. */
  static List<List<Suite>> of(List<Suite> suites) {
    List<List<Suite>> batches = new ArrayList<>();
    Map<MavenModule, List<Suite>> shared = new LinkedHashMap<>();
    for (Suite suite : suites) {
      // Lincheck rewrites the classes under test, which slows every test in the same JVM.
      boolean rewrites = suite.name().contains("Lincheck");
      if (rewrites || !suite.known() || suite.expected().compareTo(SLOW) >= 0) {
        batches.add(List.of(suite));
        continue;
      }
      List<Suite> batch = shared.get(suite.module());
      if (batch == null || expected(batch).compareTo(LONGEST) >= 0 || batch.contains(suite)) {
        batch = new ArrayList<>();
        batches.add(batch);
        shared.put(suite.module(), batch);
      }
      batch.add(suite);
    }
    batches.sort(comparing(Batches::expected).reversed());
    return batches;
  }

  static Duration expected(List<Suite> suites) {
    return suites.stream().map(Suite::expected).reduce(Duration.ZERO, Duration::plus);
  }
}
