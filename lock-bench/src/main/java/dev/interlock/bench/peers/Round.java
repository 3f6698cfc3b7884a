package dev.interlock.bench.peers;

import java.util.Map;

/** What one entrant does in each round. */
@FunctionalInterface
interface Round {

  /**
   * Measures once.
   *
   * @throws Exception if the entrant cannot go on
   */
  Map<Figure, Double> measure() throws Exception;
}
