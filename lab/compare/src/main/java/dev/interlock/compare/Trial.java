package dev.interlock.compare;

import java.util.List;
import java.util.Map;

/** Measures one contender, once in each round. */
public interface Trial extends AutoCloseable {

  /**
   * Measures the contender for one round.
   *
   * @throws Exception if the contender fails; it is then removed
   */
  Map<Figure, Double> round() throws Exception;

  /** Discards results that a trial has kept from the rounds so far, which were warm-up. */
  default void forgetWarmUp() {}

  @Override
  default void close() throws Exception {}

  /** Closes all objects in reverse order, even if one of them fails to close. */
  static void closeAll(List<? extends AutoCloseable> opened) throws Exception {
    if (!opened.isEmpty()) {
      int last = opened.size() - 1;
      try (AutoCloseable first = () -> closeAll(opened.subList(0, last))) {
        opened.get(last).close();
      }
    }
  }
}
