package dev.interlock.testbed.process;

import java.io.IOException;

/** One server's process, on this machine or in a container: started, stopped, continued, killed. */
public interface ServerProcess {

  /** Starts the process and returns at once. It must not be running. */
  void start() throws IOException;

  /** Whether the process runs (paused counts). */
  boolean isRunning();

  /** Stops the process where it is, without its notice; returns when it stands still. */
  void pause() throws IOException;

  /** Lets a paused process go on. */
  void resume() throws IOException;

  /** Ends the process without its notice, paused or not; returns when it has gone. */
  void kill() throws IOException;

  /** What the process has written since it was last started, the end of it if that is long. */
  String output();

  /** Kills the process and forgets all that was kept for starting it again. */
  void close() throws IOException;
}
