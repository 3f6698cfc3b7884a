package dev.interlock.bench.peers;

import java.io.IOException;

/** Counts, on the server, the requests of all its clients. */
@FunctionalInterface
interface RequestCounter {

  /**
   * Says how many there were so far.
   *
   * @throws IOException if the server does not tell
   */
  long requests() throws IOException, InterruptedException;
}
