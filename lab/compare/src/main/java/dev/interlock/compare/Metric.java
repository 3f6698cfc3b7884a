package dev.interlock.compare;

import dev.interlock.report.Unit;

/**
 * A quantity that a scenario measures.
 *
 * @param id its name in {@code results.json}
 * @param label its name for people, short enough for the head of a column
 * @param unit what it counts
 */
record Metric(String id, String label, Unit unit) {}
