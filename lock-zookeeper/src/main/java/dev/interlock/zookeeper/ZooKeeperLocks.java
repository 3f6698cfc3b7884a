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
 * Locks through a CuratorFramework that the program already has.
 *
 * <pre>{@code
 * CuratorFramework curator = CuratorFrameworkFactory.newClient("localhost:2181", retryPolicy);
 * curator.start();
 * try (LockClient locks = ZooKeeperLocks.using(curator)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>Opening takes a little more than two of the servers' ticks: of a session that was there
 * before, it has to be found out since when the leader has heard of it. When the session has ended
 * and the framework has made another, the first acquisition takes as long.
 *
 * <p>The framework is never closed here, and has to outlive the lock client. Its session carries
 * the locks, so its session time-out is how long a lock of a dead process is kept. The session is
 * not ended here either: a node that the servers refuse to delete stays with it, which is logged,
 * whereas a client with a session of its own would end that one after a TTL. What the client could
 * not release or undo before it was closed is looked for and deleted in the background, for as long
 * as the session lasts. The framework's namespace and its access list provider hold for the nodes
 * of locks, too; its retry policy does not, as no request of ours must be repeated by itself.
 *
 * <p>A connection that has fallen silent is closed, so that the driver makes another on the same
 * session before the leases are lost: one on which nothing has been answered for three quarters of
 * the {@linkplain LockOptions#requestTimeout() request time-out}, and for a tenth of the session's
 * time-out, while locks asked for something. It happens once in half a session's time-out at most.
 * Whatever else uses the framework sees a suspended connection, and its requests that are under way
 * fail as they do when a connection breaks.
 *
 * <p>If a server agrees to another session time-out than the one before, when the framework
 * connects again, the leases are lost: the session may end earlier than they say.
 */
public final class ZooKeeperLocks {

  private ZooKeeperLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param curator where the locks are kept; started
   * @return a new client
   * @throws LockConfigurationException if the framework is not started, or its session too short
   * @throws dev.interlock.LockUnavailableException if the servers do not answer
   */
  public static LockClient using(CuratorFramework curator) {
    return using(curator, ZooKeeperSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client with default settings.
   *
   * @param curator where the locks are kept; started
   * @param options what holds for every lock of the client unless said otherwise per lock
   * @return a new client
   * @throws LockConfigurationException if the framework is not started, or its session too short
   * @throws dev.interlock.LockUnavailableException if the servers do not answer
   */
  public static LockClient using(CuratorFramework curator, LockOptions options) {
    return using(curator, ZooKeeperSettings.defaults(), options);
  }

  /**
   * Opens a client.
   *
   * @param curator where the locks are kept; started
   * @param settings how they are kept
   * @param options what holds for every lock of the client unless said otherwise per lock
   * @return a new client
   * @throws LockConfigurationException if the framework is not started, or its session too short
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
    return new Opening(curator, servers, AccessLists.of(curator), settings, context)
        .of(addresses.split(",").length, null, () -> {});
  }
}
