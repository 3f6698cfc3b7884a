package dev.interlock.testbed.server;

import java.io.IOException;
import java.time.Duration;

/** The question, over a new connection, whether a server is there. */
public interface Probe {
  /**
   * Asks.
   *
   * @return whether the server is ready; false is an answer too
   * @throws java.net.ConnectException if the server refuses the connection
   * @throws IOException if no answer came within the limit
   */
  boolean ready(Duration limit) throws IOException;
}
