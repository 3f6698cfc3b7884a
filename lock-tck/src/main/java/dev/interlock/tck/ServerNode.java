package dev.interlock.tck;

/** One process of a {@link Server}. Each method returns when its effect can be seen. */
public interface ServerNode {

  /**
   * Stops the process without ending it, as SIGSTOP does.
   *
   * @throws Exception if it cannot be stopped
   */
  void pause() throws Exception;

  /**
   * Lets a paused process go on.
   *
   * @throws Exception if it cannot be continued
   */
  void resume() throws Exception;

  /**
   * Ends the process at once, as SIGKILL does. What it had confirmed is kept as far as the store
   * keeps it.
   *
   * @throws Exception if it cannot be killed
   */
  void kill() throws Exception;

  /**
   * Starts a killed process again, at the same address and with its data, and waits until it
   * serves.
   *
   * @throws Exception if it does not start
   */
  void restart() throws Exception;

  /**
   * Returns whether this node leads at the moment.
   *
   * @return true if it does; always false where nodes have no leader
   * @throws Exception if the node cannot be asked
   */
  default boolean isLeader() throws Exception {
    return false;
  }
}
