package dev.interlock.compare;

import java.util.List;

/**
 * One number of the comparison.
 *
 * @param scenario which scenario measured it
 * @param backend on which backend
 * @param metric what was measured
 * @param point under which circumstances
 * @param value the median of the rounds
 * @param rounds what each round gave, in their order
 */
record Measurement(
    String scenario,
    String backend,
    Metric metric,
    Point point,
    double value,
    List<Double> rounds) {

  Measurement {
    rounds = List.copyOf(rounds);
  }

  static Measurement ofRounds(
      String scenario, String backend, Metric metric, Point point, List<Double> rounds) {
    return new Measurement(scenario, backend, metric, point, Rounds.median(rounds), rounds);
  }
}
