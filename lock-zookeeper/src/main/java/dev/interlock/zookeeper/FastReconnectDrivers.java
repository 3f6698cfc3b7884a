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
 * to spread the clients; the first loses leases (LEASE-07).
 *
 * <p>The usual driver also waits too long for a server that accepts the connection but does not
 * answer, as a starting or suspended server does. It waits for the session's time-out divided by
 * the number of addresses: with one address, until all leases are lost. These drivers wait for at
 * most a sixth of the session's time-out. If that is less than two seconds, which is too short for
 * a busy server, they may wait for up to four seconds.
 */
final class FastReconnectDrivers implements ZookeeperFactory {

  private static final long MAX_PAUSE_MILLIS = 100;
  private static final int ATTEMPTS_PER_SESSION = 6;
  private static final int MIN_ATTEMPT_MILLIS = 2_000;

  private final TimeSource time;
  private final Logins logins;
  private volatile @Nullable Created last;

  /** A driver, and a time before its session began. */
  private record Created(ZooKeeper driver, ClockReading beginning) {}

  FastReconnectDrivers(TimeSource time, Logins logins) {
    this.time = time;
    this.logins = logins;
  }

  /**
   * Returns a time before the driver's session began; for any but the newest driver, a time long
   * before.
   */
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

  /**
   * The usual addresses with shorter pauses, which also refresh the logins before each connection.
   */
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

    /** Returns the number by which the driver divides the session's time-out, its only use. */
    @Override
    public int size() {
      ZooKeeper current = driver;
      int timeout = current == null ? requestedTimeout : current.getSessionTimeout();
      return Math.max(usual.size(), Math.min(ATTEMPTS_PER_SESSION, timeout / MIN_ATTEMPT_MILLIS));
    }

    @Override
    public InetSocketAddress next(long pause) {
      logins.refresh();
      return usual.next(Math.min(pause, MAX_PAUSE_MILLIS));
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
