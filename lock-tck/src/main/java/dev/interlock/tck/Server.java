package dev.interlock.tck;

import java.util.List;
import java.util.Optional;

/**
 * A running store. If the kit cannot inspect or stop it, it reports the rules that need this as not
 * tested.
 */
public interface Server extends AutoCloseable {

  /**
   * Returns the store's URI, for {@link dev.interlock.LockClient#open(String)}.
   *
   * @return the URI
   */
  String uri();

  /**
   * Returns the processes that the store consists of, if the kit may stop and kill them.
   *
   * @return the nodes; empty if the kit must not touch the server
   */
  default List<ServerNode> nodes() {
    return List.of();
  }

  /**
   * Returns a view of the store's contents.
   *
   * @return the view, or empty if there is none
   */
  default Optional<StoreView> view() {
    return Optional.empty();
  }

  /**
   * Returns the permissions of lock clients, if the kit may take them away for a while. The kit
   * does so only on a server that it does not share.
   *
   * @return the permissions, or empty if there are none or the kit must not touch them
   * @throws Exception if they cannot be set up
   */
  default Optional<Permissions> permissions() throws Exception {
    return Optional.empty();
  }

  /**
   * Deletes a lock in the store without notice to its holder, as with the store's own tools.
   *
   * @param name the lock's name
   * @return false if this is not supported; the kit then uses {@link
   *     dev.interlock.LockClient#forceRelease}
   * @throws Exception if it fails
   */
  default boolean delete(String name) throws Exception {
    return false;
  }

  /** Stops the server permanently, if it was started for the kit. */
  @Override
  default void close() {}
}
