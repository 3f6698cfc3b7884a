package dev.interlock.zookeeper;

import dev.interlock.spi.TimeSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Collection;
import org.apache.curator.utils.ZookeeperFactory;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.HostProvider;
import org.apache.zookeeper.client.StaticHostProvider;
import org.apache.zookeeper.client.ZKClientConfig;
import org.jspecify.annotations.Nullable;

/**
 * Creates drivers that reconnect fast. The usual driver pauses for a second after it has tried all
 * addresses, and for up to another second before each try. The second pause is random, and enough
 * to spread the clients; the first costs leases (LEASE-07).
 *
 * <p>The usual driver also divides the session's time-out by the number of addresses, and waits
 * that long for a server that accepts the connection and does not answer: with one address, until
 * all leases are lost. Servers do that while they start, or when they are suspended. Here a try
 * takes a sixth of the session's time-out at most. With time-outs below twelve seconds, where that
 * would be too short for a busy server, it may take up to four seconds.
 */
final class FastReconnectDrivers implements ZookeeperFactory {

  private static final long LONGEST_PAUSE_MILLIS = 100;
  private static final int ATTEMPTS_PER_SESSION = 6;
  private static final int SHORTEST_ATTEMPT_MILLIS = 2_000;

  private final TimeSource time;
  private final Logins logins;
  private volatile @Nullable Created last;

  /** A driver, and a time before its session. */
  private record Created(ZooKeeper driver, ClockReading beginning) {}

  FastReconnectDrivers(TimeSource time, Logins logins) {
    this.time = time;
    this.logins = logins;
  }

  /** A time before the driver's session; long before, for any but the newest driver. */
  ClockReading beginningOf(ZooKeeper driver) {
    Created newest = last;
    return newest != null && newest.driver() == driver
        ? newest.beginning()
        : ClockReading.longBefore(time);
  }

  @Override
  public ZooKeeper newZooKeeper(
      String connectString, int sessionTimeout, Watcher watcher, boolean canBeReadOnly)
      throws IOException {
    return newZooKeeper(connectString, sessionTimeout, watcher, canBeReadOnly, null);
  }

  @Override
  public ZooKeeper newZooKeeper(
      String connectString,
      int sessionTimeout,
      Watcher watcher,
      boolean canBeReadOnly,
      @Nullable ZKClientConfig config)
      throws IOException {
    ClockReading beginning = ClockReading.now(time);
    ConnectStringParser parser = new ConnectStringParser(connectString);
    HostProvider usual = new StaticHostProvider(parser.getServerAddresses());
    FastHosts hosts = new FastHosts(usual, sessionTimeout, logins);
    ZooKeeper driver =
        new ZooKeeper(connectString, sessionTimeout, watcher, canBeReadOnly, hosts, config);
    hosts.driver = driver;
    logins.begin(driver);
    last = new Created(driver, beginning);
    return driver;
  }

  /** The usual addresses, with shorter pauses, and the present logins for each connection. */
  private static final class FastHosts implements HostProvider {
    private final HostProvider usual;
    private final int requestedTimeout;
    private final Logins logins;
    private volatile @Nullable ZooKeeper driver;

    FastHosts(HostProvider usual, int sessionTimeoutMillis, Logins logins) {
      this.usual = usual;
      this.requestedTimeout = sessionTimeoutMillis;
      this.logins = logins;
    }

    /** The driver uses this only to divide the session's time-out. */
    @Override
    public int size() {
      ZooKeeper known = driver;
      int timeout = known == null ? requestedTimeout : known.getSessionTimeout();
      return Math.max(
          usual.size(), Math.min(ATTEMPTS_PER_SESSION, timeout / SHORTEST_ATTEMPT_MILLIS));
    }

    @Override
    public InetSocketAddress next(long pause) {
      logins.refresh();
      return usual.next(Math.min(pause, LONGEST_PAUSE_MILLIS));
    }

    @Override
    public void onConnected() {
      usual.onConnected();
    }

    @Override
    public boolean updateServerList(
        Collection<InetSocketAddress> addresses, InetSocketAddress current) {
      return usual.updateServerList(addresses, current);
    }
  }
}
