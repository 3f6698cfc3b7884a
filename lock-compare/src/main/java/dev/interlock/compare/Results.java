package dev.interlock.compare;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What has been found out so far. Thread-safe, so that a run that is cut short loses nothing. */
final class Results {

  /** Why something was not measured. */
  enum Reason {
    /** It makes no sense on that backend, or needs what is not there. */
    NOT_APPLICABLE,
    /** It went wrong. */
    FAILED
  }

  /** What was not measured; an empty scenario means all of them. */
  record Gap(String scenario, String backend, Reason reason, String text) {}

  /** A distribution of durations: for each quantile, from 0 to 1, the duration. */
  record Distribution(String scenario, String backend, List<Step> steps) {
    /** One point of it. */
    record Step(double quantile, double seconds) {}
  }

  /** What happened when, in one example of a fault. */
  record TimeLine(String scenario, String backend, List<Event> events) {
    /** Something that happened, counted from the beginning of the line. */
    record Event(double seconds, String what) {
      Event(Duration at, String what) {
        this(at.toNanos() / 1e9, what);
      }
    }
  }

  @GuardedBy("this")
  private final List<Measurement> measurements = new ArrayList<>();

  @GuardedBy("this")
  private final List<Gap> gaps = new ArrayList<>();

  @GuardedBy("this")
  private final List<Distribution> distributions = new ArrayList<>();

  @GuardedBy("this")
  private final List<TimeLine> timeLines = new ArrayList<>();

  synchronized void add(Measurement measurement) {
    if (!Double.isNaN(measurement.value())) {
      measurements.add(measurement);
    }
  }

  synchronized void add(Gap gap) {
    gaps.add(gap);
  }

  synchronized void add(Distribution distribution) {
    distributions.add(distribution);
  }

  synchronized void add(TimeLine timeLine) {
    timeLines.add(timeLine);
  }

  synchronized List<Measurement> measurements() {
    return List.copyOf(measurements);
  }

  synchronized List<Gap> gaps() {
    return List.copyOf(gaps);
  }

  synchronized List<Distribution> distributions() {
    return List.copyOf(distributions);
  }

  synchronized List<TimeLine> timeLines() {
    return List.copyOf(timeLines);
  }

  Optional<Measurement> find(String scenario, String backend, Metric metric, Point point) {
    return measurements().stream()
        .filter(
            one ->
                one.scenario().equals(scenario)
                    && one.backend().equals(backend)
                    && one.metric().equals(metric)
                    && one.point().equals(point))
        .findFirst();
  }

  boolean measuredAnything() {
    return !measurements().isEmpty();
  }

  boolean anythingFailed() {
    return gaps().stream().anyMatch(gap -> gap.reason() == Reason.FAILED);
  }
}
