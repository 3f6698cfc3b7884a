package dev.interlock.zookeeper;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import java.util.Objects;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;

/**
 * Opens lock clients on a CuratorFramework of the program's own.
 *
 * <pre>{@code
 * CuratorFramework curator = CuratorFrameworkFactory.newClient("localhost:2181", retryPolicy);
 * curator.start();
 * try (LockClient locks = ZooKeeperLocks.using(curator)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The lock client never closes the framework, which must outlive it.
 *
 * <ul>
 *   <li>Opening takes a little more than two of the servers' ticks, because the session is older
 *       than the lock client. If the framework begins another session, the first acquisition after
 *       that takes as long.
 *   <li>The servers keep the locks of a dead process for the framework's session time-out.
 *   <li>The lock client never ends the session. A node that the servers refuse to delete stays
 *       until the session ends, and the client logs a warning; a client that was opened by a URI
 *       would end its session after a TTL. If the client could not release a lock before it was
 *       closed, it keeps trying to delete the node in the background while the session lasts.
 *   <li>The framework's namespace and its access list provider apply to the nodes of locks. Its
 *       retry policy does not: no request of a lock may be repeated automatically.
 *   <li>Answers to the lock client arrive on the framework's event thread, as those to the program
 *       do. A watcher or callback of the program that blocks there delays all locks, and may lose
 *       the leases. If one of them calls a blocking method of the lock client, it waits until the
 *       call times out. Run such work on another executor.
 *   <li>The lock client closes a silent connection, so that the driver opens another one on the
 *       same session before the leases are lost. A connection is silent if requests of locks had no
 *       answer for three quarters of the {@linkplain LockOptions#requestTimeout() request time-out}
 *       and for a tenth of the session's time-out. If the next connection is silent as well, it is
 *       closed only after half the session's time-out. Other users of the framework see a suspended
 *       connection, and their pending requests fail as they do when a connection breaks.
 *   <li>The lock client has only this session. It refuses an acquisition with a {@link
 *       LockConfigurationException} if the paths of its nodes would take more than 512 KiB, which
 *       is about 2,000 locks with names of 200 characters: servers cannot read the transaction that
 *       ends a session with too many nodes. All lock clients on the framework count together; the
 *       program's own nodes do not count. A client that was opened by a URI begins more sessions
 *       instead.
 *   <li>If the session's time-out changes when the framework reconnects, all leases are lost,
 *       because the session may end before their validity does.
 * </ul>
 */
public final class ZooKeeperLocks {

  private ZooKeeperLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param curator the framework, started
   * @return a new client
   * @throws LockConfigurationException if the framework is not started, or its session is too short
   * @throws dev.interlock.LockUnavailableException if the servers do not answer
   */
  public static LockClient using(CuratorFramework curator) {
    return using(curator, ZooKeeperSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client with default settings.
   *
   * @param curator the framework, started
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException if the framework is not started, or its session is too short
   * @throws dev.interlock.LockUnavailableException if the servers do not answer
   */
  public static LockClient using(CuratorFramework curator, LockOptions options) {
    return using(curator, ZooKeeperSettings.defaults(), options);
  }

  /**
   * Opens a client.
   *
   * @param curator the framework, started
   * @param settings how the locks are stored
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException if the framework is not started, or its session is too short
   * @throws dev.interlock.LockUnavailableException if the servers do not answer
   */
  public static LockClient using(
      CuratorFramework curator, ZooKeeperSettings settings, LockOptions options) {
    Objects.requireNonNull(curator, "curator");
    Objects.requireNonNull(settings, "settings");
    return LockClient.using(context -> backend(curator, settings, context), options);
  }

  static LockBackend backend(
      CuratorFramework curator, ZooKeeperSettings settings, BackendContext context) {
    if (curator.getState() != CuratorFrameworkState.STARTED) {
      throw new LockConfigurationException(
          "the CuratorFramework is "
              + (curator.getState() == CuratorFrameworkState.LATENT
                  ? "not started; call its start() first"
                  : "closed"));
    }
    String servers = curator.getZookeeperClient().getCurrentConnectionString();
    int slash = servers.indexOf('/');
    String addresses = slash < 0 ? servers : servers.substring(0, slash);
    return new BackendOpener(
            servers, AccessLists.of(curator), settings, context, NodeAccount.MAX_BYTES)
        .open(addresses.split(",").length, curator);
  }
}
