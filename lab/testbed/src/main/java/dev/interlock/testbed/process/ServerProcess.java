package dev.interlock.testbed.process;

import java.io.IOException;

/** The process of one server, on this machine or in a container. */
public interface ServerProcess {

  /** Starts the process, which must not be running, and returns at once. */
  void start() throws IOException;

  /** {@return whether the process runs or is paused} */
  boolean isRunning();

  /** Pauses the process (SIGSTOP), and waits until it is stopped. */
  void pause() throws IOException;

  /** Continues a paused process (SIGCONT). */
  void resume() throws IOException;

  /** Kills the process (SIGKILL), paused or not, and waits until it has ended. */
  void kill() throws IOException;

  /** {@return the server's processes, on Linux with their states} */
  String processes();

  /** {@return the end of the process's output since its last start} */
  String output();

  /** Kills the process, and removes what another start would need. */
  void close() throws IOException;
}
