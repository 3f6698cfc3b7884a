package dev.interlock.compare;

import static java.util.stream.Collectors.joining;

import dev.interlock.report.Unit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The results so far, as in {@code results.json}. Thread-safe, so that a run that is cut short
 * loses nothing.
 */
record Results(
    List<Measurement> measurements,
    List<Distribution> distributions,
    List<TimeLine> timeLines,
    List<Gap> gaps) {

  private static final int MIN_RATIO_ROUNDS = 3;
  private static final double MAX_RATIO_SPREAD = 1.3;

  /**
   * One number of the comparison.
   *
   * @param at under which circumstances; null if none were varied
   * @param value the median of the rounds
   * @param rounds what each round gave, in their order
   */
  record Measurement(
      String scenario,
      String backend,
      String metric,
      Unit unit,
      @Nullable Point at,
      double value,
      List<Double> rounds) {}

  /** A distribution of durations. */
  record Distribution(String scenario, String backend, List<Step> steps) {
    /** One point of it; the quantile is from 0 to 1. */
    record Step(double quantile, double seconds) {}
  }

  /** What happened when, in one example of a fault. */
  record TimeLine(String scenario, String backend, List<Event> events) {
    /** Something that happened, counted from the beginning of the line. */
    record Event(double seconds, String what) {}
  }

  /** Why something was not measured. */
  enum Reason {
    /** It makes no sense on that backend, or needs what is not there. */
    NOT_APPLICABLE,
    /** It went wrong. */
    FAILED,
    /** It was measured, but not well enough for a figure. */
    UNCERTAIN
  }

  /** What was not measured; an empty scenario means all of them. */
  record Gap(String scenario, String backend, Reason reason, String text) {}

  Results() {
    this(
        new CopyOnWriteArrayList<>(),
        new CopyOnWriteArrayList<>(),
        new CopyOnWriteArrayList<>(),
        new CopyOnWriteArrayList<>());
  }

  void measured(
      String scenario, String backend, Metric metric, @Nullable Point at, List<Double> rounds) {
    double median = Spread.of(rounds).median();
    if (!Double.isNaN(median)) {
      measurements.add(
          new Measurement(
              scenario, backend, metric.id(), metric.unit(), at, median, List.copyOf(rounds)));
    }
  }

  /**
   * Notes a ratio whose rounds agree, or else that they do not. One round in five may be off, since
   * the median does not follow it.
   */
  void ratio(
      String scenario, String backend, Metric metric, @Nullable Point at, List<Double> rounds) {
    List<Double> counted = rounds.stream().sorted().toList();
    counted = counted.size() < 5 ? counted : counted.subList(1, counted.size() - 1);
    Spread spread = Spread.of(counted);
    if (counted.size() >= MIN_RATIO_ROUNDS
        && spread.highest() <= MAX_RATIO_SPREAD * spread.lowest()) {
      measured(scenario, backend, metric, at, rounds);
    } else if (!rounds.isEmpty()) {
      String where = at == null ? "" : " (" + at.dimension() + ": " + at.number() + ")";
      String each = rounds.stream().map(metric.unit()::format).collect(joining(", "));
      String why = metric.label() + where + " is not shown, as the rounds gave " + each;
      gaps.add(new Gap(scenario, backend, Reason.UNCERTAIN, why));
    }
  }

  Optional<Measurement> find(String scenario, String backend, Metric metric, @Nullable Point at) {
    return measurements.stream()
        .filter(
            one ->
                one.scenario.equals(scenario)
                    && one.backend.equals(backend)
                    && one.metric.equals(metric.id())
                    && Objects.equals(one.at, at))
        .findFirst();
  }

  boolean anythingFailed() {
    return gaps.stream().anyMatch(gap -> gap.reason == Reason.FAILED);
  }
}
