package dev.interlock.tck;

/**
 * The permissions that a {@link Server} gives to lock clients, which can be taken from them. Not
 * called from several threads at a time.
 */
public interface Permissions {

  /**
   * Returns the URI of the clients whose permissions can be taken away.
   *
   * @return the URI, with the user and the password of such a client if there has to be one
   */
  String uri();

  /**
   * Takes the permission to change anything that belongs to locks from all clients at {@link
   * #uri()}, including those that are connected already. Returns when the server has confirmed it.
   *
   * @throws Exception if it cannot be done
   */
  void take() throws Exception;

  /**
   * Gives back what was taken. Returns when the server has confirmed it.
   *
   * @throws Exception if it cannot be done
   */
  void giveBack() throws Exception;
}
