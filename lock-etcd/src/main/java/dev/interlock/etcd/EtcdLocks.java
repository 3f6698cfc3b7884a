package dev.interlock.etcd;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import io.etcd.jetcd.Client;
import java.util.Objects;

/**
 * Opens lock clients on a jetcd client of the program's own.
 *
 * <pre>{@code
 * Client etcd = Client.builder().endpoints("http://localhost:2379").waitForReady(false)
 *     .header("hasleader", "true").build();
 * try (LockClient locks = EtcdLocks.using(etcd)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The lock client never closes the jetcd client, which must outlive it.
 *
 * <ul>
 *   <li>The jetcd client manages its own connections. A lock client that was opened by a URI
 *       reconnects as soon as a request is not answered; jetcd notices a silent connection only
 *       after its {@code keepaliveTime} and {@code keepaliveTimeout}, 40 s by default, and after a
 *       longer outage it may take as long again to reconnect. Use TTLs that are longer than that.
 *   <li>With {@code waitForReady(false)} jetcd drops the requests that were not answered in time.
 *       Without it jetcd may still send them when the connection is back, which is harmless.
 *   <li>With the header {@code hasleader} a member that is cut off from the others fails at once,
 *       and the next one is asked. Without it the driver keeps sending that member its share of the
 *       requests, and each takes the whole request time-out.
 *   <li>The jetcd client's own namespace comes before the one of {@link EtcdSettings}.
 * </ul>
 */
public final class EtcdLocks {

  private EtcdLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param etcd a client of the cluster that keeps the locks
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the server refuses the jetcd client
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(Client etcd) {
    return using(etcd, EtcdSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client with default settings.
   *
   * @param etcd a client of the cluster that keeps the locks
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the server refuses the jetcd client
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(Client etcd, LockOptions options) {
    return using(etcd, EtcdSettings.defaults(), options);
  }

  /**
   * Opens a client.
   *
   * @param etcd a client of the cluster that keeps the locks
   * @param settings how the locks are stored
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the server refuses the jetcd client
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(Client etcd, EtcdSettings settings, LockOptions options) {
    Objects.requireNonNull(etcd, "etcd");
    Objects.requireNonNull(settings, "settings");
    return LockClient.using(context -> backend(etcd, settings, context), options);
  }

  static LockBackend backend(Client etcd, EtcdSettings settings, BackendContext context) {
    return new BackendOpener(Failures.ofProgram(), settings, context)
        .open(Clients.ofProgram(etcd), null, null, 1);
  }
}
