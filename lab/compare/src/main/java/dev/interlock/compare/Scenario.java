package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One question that is put to all backends. */
abstract class Scenario {

  /**
   * What the report says about a scenario.
   *
   * @param id its name on the command line and in {@code results.json}
   * @param title its name for people
   * @param explanation what is done and measured, in a sentence or two
   */
  record About(String id, String title, String explanation) {}

  /** One column of a scenario's table. */
  record Column(String label, Metric metric, @Nullable Point at) {
    Column(Metric metric) {
      this(metric.label(), metric, null);
    }
  }

  /** A picture of some of a scenario's numbers. */
  sealed interface Chart {
    String title();

    /** A bar for each backend. */
    record Bars(String title, Metric metric) implements Chart {}

    /**
     * A line for each backend, over the circumstances, both axes logarithmic.
     *
     * @param dimension which circumstance
     * @param axis the caption of the horizontal axis
     */
    record Lines(String title, Metric metric, String dimension, String axis) implements Chart {}

    /** For each backend, the latency at each percentile. */
    record Latencies(String title) implements Chart {}

    /** For each backend, what happened when. */
    record TimeLines(String title) implements Chart {
      TimeLines() {
        this("What happened when");
      }
    }
  }

  private final About about;
  private final List<Metric> metrics;
  private final List<Chart> charts;

  /**
   * Describes a scenario.
   *
   * @param metrics the columns of its table, unless {@link #columns} says otherwise
   * @param charts the pictures that make the numbers easy to see
   */
  Scenario(String id, String title, String explanation, List<Metric> metrics, List<Chart> charts) {
    this.about = new About(id, title, explanation.strip().replace('\n', ' '));
    this.metrics = metrics;
    this.charts = charts;
  }

  private static List<Scenario> all() {
    return List.of(
        new Uncontended(),
        new ManyLocks(),
        new HotLock(),
        new SharedNames(),
        new AddedLatency(),
        new ServerCost(),
        new Takeover(),
        new SilentPartition(),
        new Restart(),
        new StoppedHolder(),
        new HeldLeases());
  }

  /** The names of all scenarios, in the order in which they are run and reported. */
  static List<String> names() {
    return all().stream().map(Scenario::id).toList();
  }

  /** Those that are named, in our order; all if none is. */
  static List<Scenario> named(List<String> ids) {
    List<String> unknown = new ArrayList<>(ids);
    unknown.removeAll(names());
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "there is no scenario "
              + String.join(", ", unknown)
              + "; the scenarios are "
              + String.join(", ", names()));
    }
    return all().stream().filter(one -> ids.isEmpty() || ids.contains(one.id())).toList();
  }

  final About about() {
    return about;
  }

  final String id() {
    return about.id();
  }

  final List<Chart> charts() {
    return charts;
  }

  /** The numbers that make its table, in the order of the columns. */
  List<Column> columns(Profile profile) {
    return metrics.stream().map(Column::new).toList();
  }

  /** About how long it takes. */
  abstract Duration estimate(Profile profile, int backends);

  /**
   * Measures. What fails on one backend is noted, and the others go on.
   *
   * @throws InterruptedException if the user ends it; what was measured by then is noted
   */
  abstract void run(Run run) throws InterruptedException;
}
