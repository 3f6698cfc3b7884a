package dev.interlock.tck;

/**
 * The permissions that a {@link Server} grants to lock clients, which the kit can take away. The
 * kit calls it from one thread at a time.
 */
public interface Permissions {

  /**
   * {@return the URI of the clients whose permissions can be taken away, with the user and the
   * password of such a client if one is needed}
   */
  String uri();

  /**
   * Removes the permission to change anything that belongs to locks from all clients at {@link
   * #uri()}, including connected ones. Returns when the server has confirmed it.
   *
   * @throws Exception if it cannot be done
   */
  void take() throws Exception;

  /**
   * Restores the permissions. Returns when the server has confirmed it.
   *
   * @throws Exception if it cannot be done
   */
  void giveBack() throws Exception;
}
