package dev.interlock.tck;

import java.util.List;
import java.util.Optional;

/**
 * A store that runs. What the kit cannot do with it (look into it, stop it) it reports as not
 * tested.
 */
public interface Server extends AutoCloseable {

  /**
   * Returns where the store is, as {@link dev.interlock.LockClient#open(String)} takes it.
   *
   * @return the URI
   */
  String uri();

  /**
   * Returns the processes that the store consists of, if the kit may stop and kill them.
   *
   * @return the nodes; empty if the server must be left alone
   */
  default List<ServerNode> nodes() {
    return List.of();
  }

  /**
   * Returns a look at what the store holds.
   *
   * @return the view, or empty if there is none
   */
  default Optional<StoreView> view() {
    return Optional.empty();
  }

  /**
   * Returns the permissions that lock clients have here, if the kit may take them away for a while.
   * It does so on a server of which it is the only user.
   *
   * @return the permissions, or empty if they must be left alone, or there are none
   * @throws Exception if they cannot be set up
   */
  default Optional<Permissions> permissions() throws Exception {
    return Optional.empty();
  }

  /**
   * Takes a lock out of the store behind its holder's back, as a person with the store's own tools
   * would.
   *
   * @param name the lock's name
   * @return false if there is no such way; {@link dev.interlock.LockClient#forceRelease} is used
   *     then
   * @throws Exception if it fails
   */
  default boolean delete(String name) throws Exception {
    return false;
  }

  /** Stops the server for good, if it was started for the kit. */
  @Override
  default void close() {}
}
