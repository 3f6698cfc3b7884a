package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.apache.curator.framework.CuratorFrameworkFactory;

/**
 * A ZooKeeper server or ensemble: <code>
 * zookeeper://user:password@host1:2181,host2:2181,host3:2181/chroot</code>.
 *
 * <p>User and password are for the digest scheme. With them, with a client certificate, or where
 * SASL is configured for the JVM, only that user may use the locks that the client creates, unless
 * the parameter {@code access} says otherwise. The path is the node of a chroot, which must exist.
 * {@link #parameters} lists the parameters; see also {@link ZooKeeperSettings}.
 */
public final class ZooKeeperProvider implements LockProvider {

  private static final int MEMBERS_OF_AN_ENSEMBLE = 3;

  private final int maxNodeBytes;

  /** Does nothing. */
  public ZooKeeperProvider() {
    this(NodeAccount.MAX_BYTES);
  }

  /** Creates a provider for tests, in which a few nodes fill a session. */
  ZooKeeperProvider(int maxNodeBytes) {
    this.maxNodeBytes = maxNodeBytes;
  }

  @Override
  public Set<String> schemes() {
    return Set.of("zookeeper");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return ZooKeeperTopology.info(MEMBERS_OF_AN_ENSEMBLE, ZooKeeperSettings.defaults());
  }

  @Override
  public String example(String scheme) {
    return scheme + "://localhost:2181";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return ZooKeeperUri.PARAMETERS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    ZooKeeperUri zookeeper = new ZooKeeperUri(uri);
    Duration requestTimeout = context.options().requestTimeout();
    Duration sessionTimeout = zookeeper.sessionTimeout(context.options().ttl());
    CuratorFrameworkFactory.Builder builder =
        CuratorFrameworkFactory.builder()
            .connectString(zookeeper.endpoint())
            .sessionTimeoutMs(millis(sessionTimeout))
            .connectionTimeoutMs(millis(shorter(requestTimeout, sessionTimeout)))
            // No request is sent through Curator, so it has nothing to retry.
            .retryPolicy((count, elapsed, sleeper) -> false)
            .ensembleTracker(false)
            .zkClientConfig(zookeeper.clientConfig(requestTimeout));
    return new BackendOpener(
            zookeeper.endpoint(),
            AccessLists.forUser(zookeeper.isForUserAlone(), "/" + zookeeper.settings().namespace()),
            zookeeper.settings(),
            context,
            maxNodeBytes)
        .open(zookeeper.servers(), sessionTimeout, builder, new Logins(zookeeper::logins));
  }

  private static Duration shorter(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private static int millis(Duration duration) {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(1, duration.toMillis()));
  }
}
