package dev.interlock.etcd;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import io.etcd.jetcd.Client;
import java.util.Objects;

/**
 * Locks through a jetcd client that the program already has.
 *
 * <pre>{@code
 * Client etcd = Client.builder().endpoints("http://localhost:2379").waitForReady(false)
 *     .header("hasleader", "true").build();
 * try (LockClient locks = EtcdLocks.using(etcd)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The jetcd client is never closed here, and has to outlive the lock client. Its connections are
 * its own affair, and that is the difference to a client opened from a URI, which makes new ones as
 * soon as a request was not answered: jetcd notices a connection that has fallen silent after its
 * {@code keepaliveTime} and {@code keepaliveTimeout}, 40 s unless set otherwise, and after a longer
 * outage it may take as long again to try anew. TTLs should outlast that. Requests that are not
 * answered in time are given up here but not there: with {@code waitForReady(false)} none of them
 * is still sent when the connection is back. If it is sent, it does no harm.
 *
 * <p>With the header {@code hasleader} a member that is cut off from the others says so at once,
 * and the next one is asked. Without it the driver goes on sending that member its share of the
 * requests, and each takes the whole request time-out.
 *
 * <p>A namespace of the jetcd client's own comes before the one of {@link EtcdSettings}.
 */
public final class EtcdLocks {

  private EtcdLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param etcd where the locks are kept
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
   * @param etcd where the locks are kept
   * @param options what holds for every lock of the client unless said otherwise per lock
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
   * @param etcd where the locks are kept
   * @param settings how they are kept
   * @param options what holds for every lock of the client unless said otherwise per lock
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
    return new Opening("the jetcd client's endpoints", settings, context)
        .on(Clients.ofUser(etcd), null, 1);
  }
}
