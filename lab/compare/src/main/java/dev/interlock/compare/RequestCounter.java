package dev.interlock.compare;

import java.io.IOException;

/** Counts, on the server, the requests of all its clients. */
@FunctionalInterface
public interface RequestCounter {

  /**
   * {@return how many there were so far}
   *
   * @throws IOException if the server does not tell
   */
  long requests() throws IOException, InterruptedException;
}
