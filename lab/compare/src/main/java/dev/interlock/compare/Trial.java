package dev.interlock.compare;

import java.util.List;
import java.util.Map;

/** What one contender does in each round. */
public interface Trial extends AutoCloseable {

  /**
   * Measures once.
   *
   * @throws Exception if the contender cannot go on
   */
  Map<Figure, Double> round() throws Exception;

  /** Forgets the rounds so far, which were for warming up. */
  default void warmedUp() {}

  @Override
  default void close() throws Exception {}

  /** Closes all, the last one first, even if closing another one fails. */
  static void closeAll(List<? extends AutoCloseable> opened) throws Exception {
    if (!opened.isEmpty()) {
      int last = opened.size() - 1;
      try (AutoCloseable first = () -> closeAll(opened.subList(0, last))) {
        opened.get(last).close();
      }
    }
  }
}
