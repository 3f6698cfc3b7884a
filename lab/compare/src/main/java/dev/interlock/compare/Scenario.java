package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A measurement that is made on all backends. */
abstract class Scenario {

  /**
   * The description of a scenario in the report.
   *
   * @param id the name on the command line and in {@code results.json}
   * @param title the heading
   * @param explanation a few sentences on what is done and measured
   */
  record About(String id, String title, String explanation) {}

  /** A column of the table of a scenario. */
  record Column(String label, Metric metric, @Nullable Point at) {
    Column(Metric metric) {
      this(metric.label(), metric, null);
    }
  }

  /** A chart of some numbers of a scenario. */
  sealed interface Chart {
    String title();

    /** A bar for each backend. */
    record Bars(String title, Metric metric) implements Chart {}

    /**
     * A line for each backend over the values of a dimension, with logarithmic axes.
     *
     * @param dimension the dimension of the horizontal axis
     * @param axis the label of the horizontal axis
     */
    record Lines(String title, Metric metric, String dimension, String axis) implements Chart {}

    /** The latency by percentile, for each backend. */
    record Latencies(String title) implements Chart {}

    /** The course of events, for each backend. */
    record TimeLines(String title) implements Chart {
      TimeLines() {
        this("Course of events");
      }
    }
  }

  private final About about;
  private final List<Metric> metrics;
  private final List<Chart> charts;

  /**
   * Describes a scenario.
   *
   * @param metrics the columns of its table, unless {@link #columns} is overridden
   * @param charts the charts of its numbers
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

  /** {@return the names of all scenarios, in the order in which they run} */
  static List<String> names() {
    return all().stream().map(Scenario::id).toList();
  }

  /** {@return the named scenarios in the order in which they run; all if no name is given} */
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

  /** {@return the columns of its table} */
  List<Column> columns(Profile profile) {
    return metrics.stream().map(Column::new).toList();
  }

  abstract Duration estimate(Profile profile, int backends);

  /**
   * Measures all backends. A failure of one backend is recorded, and the others go on.
   *
   * @throws InterruptedException if the user stops it; the results up to then are recorded
   */
  abstract void run(Run run) throws InterruptedException;
}
