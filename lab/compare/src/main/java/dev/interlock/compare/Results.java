package dev.interlock.compare;

import static java.util.stream.Collectors.joining;

import dev.interlock.report.Unit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The results so far, as in {@code results.json}. Thread-safe; an interrupted run keeps its
 * results.
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
   * @param at the value of the dimension that was varied; null if none was
   * @param value the median of the rounds
   * @param rounds the values of the rounds, in their order
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
    /** A duration at a quantile from 0 to 1. */
    record Step(double quantile, double seconds) {}
  }

  /** The course of events after one injected fault. */
  record TimeLine(String scenario, String backend, List<Event> events) {
    /** An event, with the seconds since the first event. */
    record Event(double seconds, String what) {}
  }

  /** The reason why a value is missing. */
  enum Reason {
    /** The measurement does not apply to the backend, or needs something that is missing here. */
    NOT_APPLICABLE,
    /** The measurement failed. */
    FAILED,
    /** The measured values differ too much for a figure. */
    UNCERTAIN
  }

  /** A missing value; an empty scenario stands for all of them. */
  record Gap(String scenario, String backend, Reason reason, String text) {}

  Results() {
    this(
        new CopyOnWriteArrayList<>(),
        new CopyOnWriteArrayList<>(),
        new CopyOnWriteArrayList<>(),
        new CopyOnWriteArrayList<>());
  }

  void add(
      String scenario, String backend, Metric metric, @Nullable Point at, List<Double> rounds) {
    double median = Spread.of(rounds).median();
    if (!Double.isNaN(median)) {
      measurements.add(
          new Measurement(
              scenario, backend, metric.id(), metric.unit(), at, median, List.copyOf(rounds)));
    }
  }

  /**
   * Adds a ratio if its rounds agree, otherwise a gap. The highest and the lowest of five or more
   * rounds are not compared, since they do not change the median.
   */
  void addRatio(
      String scenario, String backend, Metric metric, @Nullable Point at, List<Double> rounds) {
    List<Double> trimmed = rounds.stream().sorted().toList();
    trimmed = trimmed.size() < 5 ? trimmed : trimmed.subList(1, trimmed.size() - 1);
    Spread spread = Spread.of(trimmed);
    if (trimmed.size() >= MIN_RATIO_ROUNDS
        && spread.highest() <= MAX_RATIO_SPREAD * spread.lowest()) {
      add(scenario, backend, metric, at, rounds);
    } else if (!rounds.isEmpty()) {
      String where = at == null ? "" : " (" + at.dimension() + ": " + at.number() + ")";
      String each = rounds.stream().map(metric.unit()::format).collect(joining(", "));
      String why = metric.label() + where + " is not shown, because the rounds differ: " + each;
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
