package dev.interlock.compare;

import java.time.Duration;
import java.util.List;

/** One question that is put to all backends. */
interface Scenario {

  /** Its name on the command line and in {@code results.json}. */
  String id();

  /** Its name for people. */
  String title();

  /** What is done and measured, in a sentence or two. */
  String explanation();

  /** The numbers that make its table, in the order of the columns. */
  List<Column> columns(Effort effort);

  /** The pictures that make it easy to see. */
  List<Chart> charts();

  /** About how long it takes. */
  Duration estimate(Effort effort, int backends);

  /**
   * Measures. What fails on one backend is noted, and the others go on.
   *
   * @throws InterruptedException if the user has had enough; what was measured is noted before
   */
  void run(Run run) throws InterruptedException;

  /** One column of its table. */
  record Column(String label, Metric metric, Point point) {
    Column(Metric metric) {
      this(metric.label(), metric, Point.ONLY);
    }
  }
}
