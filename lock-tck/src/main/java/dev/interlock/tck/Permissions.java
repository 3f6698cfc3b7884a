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
  void deny() throws Exception;

  /**
   * Restores the permissions. Returns when the server has confirmed it.
   *
   * @throws Exception if it cannot be done
   */
  void allow() throws Exception;

  /**
   * Changes the password of the clients at {@link #uri()} as an operator does: the server accepts
   * the new one, the place where clients read theirs (such as a file that the URI names) has it,
   * the server refuses the old one, and connections that were made with it end. Clients open with
   * {@link #uri()} before and after that.
   *
   * @return false if this is not supported
   * @throws Exception if it cannot be done
   */
  default boolean changePassword() throws Exception {
    return false;
  }
}
