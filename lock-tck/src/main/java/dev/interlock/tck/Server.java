package dev.interlock.tck;

import java.util.List;
import java.util.Optional;

/**
 * A running store. If the kit cannot inspect or stop it, the rules that need this are reported as
 * not tested.
 */
public interface Server extends AutoCloseable {

  /** {@return the store's URI, for {@link dev.interlock.LockClient#open(String)}} */
  String uri();

  /** {@return the processes of the store; empty if the kit must not touch them} */
  default List<ServerNode> nodes() {
    return List.of();
  }

  /** {@return a view of the store's contents, or empty if there is none} */
  default Optional<StoreView> view() {
    return Optional.empty();
  }

  /**
   * {@return the permissions of lock clients; empty if there are none or the kit must not touch
   * them} The kit takes them away only on a server of one test.
   *
   * @throws Exception if they cannot be set up
   */
  default Optional<Permissions> permissions() throws Exception {
    return Optional.empty();
  }

  /**
   * Deletes a lock in the store without notice to its holders, as the store's own tools would. If
   * several hold it together, all holds are deleted.
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
