package dev.interlock.compare;

import dev.interlock.report.Unit;

/** A kind of number that a round measures for one contender. */
public enum Figure {
  CYCLE_P50("p50 of a cycle", Unit.SECONDS),
  CYCLE_P99("p99 of a cycle", Unit.SECONDS),
  CYCLES("cycles", Unit.PER_SECOND),
  CYCLE_PROCESSOR_TIME("client's processor time for a cycle", Unit.SECONDS),
  CYCLE_REQUESTS("requests for a cycle", Unit.COUNT),
  HANDOFF_P50("p50 of a handoff", Unit.SECONDS),
  HANDOFF_MEAN("mean of a handoff", Unit.SECONDS),
  HANDOFF_P99("p99 of a handoff", Unit.SECONDS),
  HANDOFFS("handoffs", Unit.PER_SECOND),
  HANDOFF_REQUESTS("requests for a handoff", Unit.COUNT),
  WAIT_P99("p99 of a wait", Unit.SECONDS),
  FAIRNESS("Jain's index", Unit.COUNT),
  TAKEOVER("takeover", Unit.SECONDS),
  START("start", Unit.SECONDS);

  private final String label;
  private final Unit unit;

  Figure(String label, Unit unit) {
    this.label = label;
    this.unit = unit;
  }

  /** {@return its name in tables} */
  public String label() {
    return label;
  }

  /** {@return its unit} */
  public Unit unit() {
    return unit;
  }
}
