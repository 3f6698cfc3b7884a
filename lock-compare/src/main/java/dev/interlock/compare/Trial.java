package dev.interlock.compare;

import java.time.Duration;

/** Something that is measured in short rounds, taking turns with others. */
interface Trial extends AutoCloseable {

  /** The backend that it is about. */
  Subject subject();

  /**
   * Measures for a while.
   *
   * @param slice for how long
   * @param warmUp whether the numbers are thrown away
   * @throws Exception if it cannot go on
   */
  void round(Duration slice, boolean warmUp) throws Exception;

  /** Puts down what the rounds gave. */
  void report(Results results);

  @Override
  void close();
}
