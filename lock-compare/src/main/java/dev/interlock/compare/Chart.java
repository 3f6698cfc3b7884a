package dev.interlock.compare;

/** What kind of picture shows which numbers of a scenario. */
sealed interface Chart {
  String title();

  /** A bar for each backend. */
  record Bars(String title, Metric metric, Point point) implements Chart {}

  /**
   * A line for each backend, over the circumstances, both axes logarithmic.
   *
   * @param dimension which circumstance
   * @param axis what is written below the horizontal axis
   */
  record Lines(String title, Metric metric, String dimension, String axis) implements Chart {
    Lines(String title, Metric metric, String dimension) {
      this(title, metric, dimension, dimension);
    }
  }

  /** For each backend, the duration under which which part of all stayed. */
  record Latencies(String title) implements Chart {}

  /** For each backend, what happened when. */
  record TimeLines(String title) implements Chart {}
}
