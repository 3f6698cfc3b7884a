package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Set;
import org.apache.curator.framework.AuthInfo;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;

/**
 * A ZooKeeper server or ensemble: <code>
 * zookeeper://user:password@host1:2181,host2:2181,host3:2181/chroot</code>.
 *
 * <p>User and password are for the digest scheme. With them, with a client certificate, or where
 * SASL is configured for the JVM, the locks that are made are for that user alone. The path is the
 * node of a chroot, which must exist. Parameters:
 *
 * <ul>
 *   <li>{@code sessionTimeout}: after how long without hearing of this client the servers give up
 *       its locks; default: the client's TTL. The servers have their own limits, and the lease
 *       tells what came of it;
 *   <li>{@code otherPassword}: a second password of the user, while passwords are being changed:
 *       the client is then both, and so are the locks that it makes;
 *   <li>{@code access}: {@code creator}, the default, or {@code anyone}: then the locks are for
 *       everybody who can connect, also where the client has a user, a certificate or SASL. Clients
 *       with different certificates that share locks need it;
 *   <li>{@code namespace}, {@code tickTime}: see {@link ZooKeeperSettings};
 *   <li>{@code tls}: {@code true} for encrypted connections; then {@code caCert}, a PEM file with
 *       the authorities to be trusted in place of the JVM's, and {@code clientCert}, a PEM file
 *       with the client's own key and certificates, which servers ask for by default.
 * </ul>
 */
public final class ZooKeeperProvider implements LockProvider {

  private static final int MEMBERS_OF_AN_ENSEMBLE = 3;

  /** Does nothing. */
  public ZooKeeperProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("zookeeper");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return ZooKeeperTopology.info(MEMBERS_OF_AN_ENSEMBLE, ZooKeeperSettings.defaults().tickTime());
  }

  @Override
  public String example(String scheme) {
    return scheme + "://localhost:2181";
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    ZooKeeperUri zookeeper = new ZooKeeperUri(uri);
    uri.requireAllRead();
    Duration requestTimeout = context.options().requestTimeout();
    Duration sessionTimeout = zookeeper.sessionTimeout(context.options().ttl());
    FastReconnectDrivers drivers = new FastReconnectDrivers(context.time());
    CuratorFrameworkFactory.Builder builder =
        CuratorFrameworkFactory.builder()
            .connectString(zookeeper.connectString())
            .sessionTimeoutMs(millis(sessionTimeout))
            .connectionTimeoutMs(millis(shorter(requestTimeout, sessionTimeout)))
            // Nothing that Curator could repeat is sent through it.
            .retryPolicy((count, elapsed, sleeper) -> false)
            .ensembleTracker(false)
            .zookeeperFactory(drivers)
            .zkClientConfig(zookeeper.clientConfig(requestTimeout));
    builder.authorization(
        zookeeper.logins().stream()
            .map(login -> new AuthInfo("digest", login.getBytes(UTF_8)))
            .toList());
    CuratorFramework curator = builder.build();
    curator.start();
    return new BackendOpener(
            curator,
            zookeeper.endpoint(),
            AccessLists.forUser(zookeeper.isForUserAlone(), "/" + zookeeper.settings().namespace()),
            zookeeper.settings(),
            context)
        .open(zookeeper.servers(), drivers, curator::close); // and with the session go its nodes
  }

  private static Duration shorter(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private static int millis(Duration duration) {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(1, duration.toMillis()));
  }
}
