package dev.interlock.tck;

/**
 * The permissions that a {@link Server} grants to lock clients, and that the kit can take away. The
 * kit calls the methods from one thread at a time.
 */
public interface Permissions {

  /**
   * {@return the URI of the clients whose permissions can be taken away, with their user and
   * password if these are needed}
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
   * Changes the password of the clients at {@link #uri()} in the order in which an operator does
   * it. The server accepts the new password; the place from which clients read it, such as a file
   * that the URI names, gets it; the server refuses the old one; and connections that used the old
   * one end. Clients open with {@link #uri()} before and after that.
   *
   * @return false if this is not supported
   * @throws Exception if it cannot be done
   */
  default boolean changePassword() throws Exception {
    return false;
  }
}
