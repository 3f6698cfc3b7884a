package dev.interlock.compare.rounds;

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
  void close() throws Exception;
}
