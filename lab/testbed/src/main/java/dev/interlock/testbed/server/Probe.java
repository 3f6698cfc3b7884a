package dev.interlock.testbed.server;

import java.io.IOException;
import java.time.Duration;

/** Asks a server over a new connection whether it is ready. */
public interface Probe {
  /**
   * Asks the server.
   *
   * @return false if the server answers, but is not ready
   * @throws java.net.ConnectException if the server refuses the connection
   * @throws IOException if no answer came within the limit
   */
  boolean ready(Duration limit) throws IOException;
}
