package dev.interlock.compare;

import java.io.IOException;

/** Counts the requests of all clients, on the server. */
@FunctionalInterface
public interface RequestCounter {

  /**
   * {@return the number of requests so far}
   *
   * @throws IOException if the server does not answer
   */
  long requests() throws IOException, InterruptedException;
}
