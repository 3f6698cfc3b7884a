package dev.interlock.tck;

import java.util.List;
import java.util.Optional;

/**
 * A running store. If the kit cannot inspect or stop it, it reports the rules that need this as not
 * tested.
 */
public interface Server extends AutoCloseable {

  /** {@return the store's URI, for {@link dev.interlock.LockClient#open(String)}} */
  String uri();

  /** {@return the processes that the store consists of; empty if the kit must not touch them} */
  default List<ServerNode> nodes() {
    return List.of();
  }

  /** {@return a view of the store's contents, or empty if there is none} */
  default Optional<StoreView> view() {
    return Optional.empty();
  }

  /**
   * {@return the permissions of lock clients, which the kit may take away for a while; empty if
   * there are none or the kit must not touch them} The kit does so only on a server that it does
   * not share.
   *
   * @throws Exception if they cannot be set up
   */
  default Optional<Permissions> permissions() throws Exception {
    return Optional.empty();
  }

  /**
   * Deletes a lock in the store without notice to its holders, as with the store's own tools. Of
   * several that hold it together, none may be left.
   *
   * @param name the lock's name
   * @return false if this is not supported; the kit then uses {@link
   *     dev.interlock.LockAdmin#forceRelease}
   * @throws Exception if it fails
   */
  default boolean delete(String name) throws Exception {
    return false;
  }

  /** Stops the server permanently, if it was started for the kit. */
  @Override
  default void close() {}
}
