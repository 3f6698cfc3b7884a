package dev.interlock.bench.peers;

import dev.interlock.report.Unit;

/** What a round tells of one entrant. */
enum Figure {
  PAIR_P50("p50 of a pair", Unit.SECONDS),
  PAIRS("pairs", Unit.PER_SECOND),
  PROCESSOR("client's processor time for a pair", Unit.SECONDS),
  PAIR_REQUESTS("requests for a pair", Unit.COUNT),
  HAND_OVER_P50("p50 of a handoff", Unit.SECONDS),
  HAND_OVER_MEAN("mean of a handoff", Unit.SECONDS),
  HAND_OVER_P99("p99 of a handoff", Unit.SECONDS),
  HAND_OVERS("handoffs", Unit.PER_SECOND),
  HAND_OVER_REQUESTS("requests for a handoff", Unit.COUNT),
  FAIRNESS("Jain's index", Unit.COUNT),
  START("start", Unit.SECONDS);

  private final String label;
  private final Unit unit;

  Figure(String label, Unit unit) {
    this.label = label;
    this.unit = unit;
  }

  String label() {
    return label;
  }

  Unit unit() {
    return unit;
  }
}
