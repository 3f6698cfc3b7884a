package dev.interlock.tck;

/** The permissions that a {@link Server} gives to lock clients, which can be taken from them. */
public interface Permissions {

  /**
   * Returns where clients go to whom that is done.
   *
   * @return the URI, with the user and the password of such a client if there has to be one
   */
  String uri();

  /**
   * Takes from all clients at {@link #uri()}, those that are connected as well, the permission to
   * change anything that belongs to locks. Returns when the server has confirmed it.
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
