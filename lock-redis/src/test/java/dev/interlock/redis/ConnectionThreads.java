package dev.interlock.redis;

import java.io.IOException;

/** The threads that serve the connections to servers of tests' own. */
final class ConnectionThreads {

  private ConnectionThreads() {}

  interface Work {
    void run() throws IOException;
  }

  /** Runs a thread until one side of the connection hangs up. */
  static void start(Work work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (IOException ended) {
                // One side has hung up.
              }
            },
            "test-connection");
    thread.setDaemon(true);
    thread.start();
  }
}
