package dev.interlock.compare;

import dev.interlock.report.Unit;

/**
 * A quantity that a scenario measures.
 *
 * @param id the name in {@code results.json}
 * @param label the heading of its column
 * @param unit the unit of its values
 */
record Metric(String id, String label, Unit unit) {}
