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
 * Drivers that lose no time when they have to connect again. The usual one rests for a second
 * whenever it has tried all addresses, and for up to another before each try. The second rest is at
 * random, and enough to keep clients from coming all at once; the first costs leases (LEASE-07).
 *
 * <p>The usual one also shares out a session's time-out among the addresses, and waits that long
 * for a server that has taken the connection and does not answer: with one address until everything
 * held is lost. Servers do that while they start, or when they are stopped. Here an attempt takes a
 * sixth of the session's time-out at most; with time-outs below twelve seconds, where that would be
 * too short for a busy server, it may take up to four seconds.
 */
final class PromptDrivers implements ZookeeperFactory {

  private static final long LONGEST_REST_MILLIS = 100;
  private static final int ATTEMPTS_PER_SESSION = 6;
  private static final int SHORTEST_ATTEMPT_MILLIS = 2_000;

  private final TimeSource time;
  private volatile @Nullable Made last;

  /** A driver, and a time before its session. */
  private record Made(ZooKeeper driver, Moment beginning) {}

  PromptDrivers(TimeSource time) {
    this.time = time;
  }

  /** A time before the driver's session; long before if it is not the last that was made. */
  Moment beginningOf(ZooKeeper driver) {
    Made made = last;
    return made != null && made.driver() == driver ? made.beginning() : Moment.longBefore(time);
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
    Moment beginning = Moment.now(time);
    ConnectStringParser parser = new ConnectStringParser(connectString);
    HostProvider usual = new StaticHostProvider(parser.getServerAddresses());
    Prompt prompt = new Prompt(usual, sessionTimeout);
    ZooKeeper driver =
        new ZooKeeper(connectString, sessionTimeout, watcher, canBeReadOnly, prompt, config);
    prompt.driver = driver;
    last = new Made(driver, beginning);
    return driver;
  }

  /** The usual addresses, with a shorter rest. */
  private static final class Prompt implements HostProvider {
    private final HostProvider usual;
    private final int wanted;
    private volatile @Nullable ZooKeeper driver;

    Prompt(HostProvider usual, int sessionTimeoutMillis) {
      this.usual = usual;
      this.wanted = sessionTimeoutMillis;
    }

    /** All that the driver does with it is to divide the session's time-out, once it is agreed. */
    @Override
    public int size() {
      ZooKeeper known = driver;
      int timeout = known == null ? wanted : known.getSessionTimeout();
      return Math.max(
          usual.size(), Math.min(ATTEMPTS_PER_SESSION, timeout / SHORTEST_ATTEMPT_MILLIS));
    }

    @Override
    public InetSocketAddress next(long rest) {
      return usual.next(Math.min(rest, LONGEST_REST_MILLIS));
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
