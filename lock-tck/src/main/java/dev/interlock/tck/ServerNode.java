package dev.interlock.tck;

/** One process of a {@link Server}. Each method returns when its effect is visible. */
public interface ServerNode {

  /**
   * Stops the process without ending it, as SIGSTOP does.
   *
   * @throws Exception if it cannot be stopped
   */
  void pause() throws Exception;

  /**
   * Continues a paused process.
   *
   * @throws Exception if it cannot be continued
   */
  void resume() throws Exception;

  /**
   * Kills the process, as SIGKILL does. Confirmed writes survive if the store has persisted them.
   *
   * @throws Exception if it cannot be killed
   */
  void kill() throws Exception;

  /**
   * Starts a killed process again, at the same address and with its data, and waits until it is
   * ready.
   *
   * @throws Exception if it does not start
   */
  void restart() throws Exception;

  /**
   * {@return whether this node is the leader; always false where nodes have no leader}
   *
   * @throws Exception if the node cannot be queried
   */
  default boolean isLeader() throws Exception {
    return false;
  }
}
