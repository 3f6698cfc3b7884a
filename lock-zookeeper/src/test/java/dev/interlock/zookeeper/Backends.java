package dev.interlock.zookeeper;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiConsumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.StaticHostProvider;
import org.apache.zookeeper.client.ZKClientConfig;

/** Opens servers and backends without the engine, and calls the backends as the engine would. */
final class Backends {

  static final TimeSource TIME = TimeSource.system();

  /** Long enough for a busy machine. */
  static final Duration TTL = Duration.ofSeconds(30);

  static final Duration TICK = Duration.ofMillis(200);
  static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(TTL)
          .requestTimeout(Duration.ofSeconds(5))
          .pollInterval(Duration.ofMinutes(10))
          .build();

  /** The settings for {@link #server}. */
  static final ZooKeeperSettings SETTINGS = ZooKeeperSettings.builder().tickTime(TICK).build();

  private static final String ID_CHARACTERS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  private Backends() {}

  static ZooKeeperEnsemble server(String... config) {
    return Testbed.zookeeper().withoutSync().tick(TICK).config(config).start();
  }

  static String uri(ZooKeeperEnsemble server) {
    return server.uri() + "?tickTime=200ms";
  }

  static LockClient client(ZooKeeperEnsemble server) {
    return LockClient.open(uri(server), OPTIONS);
  }

  /** The time for which a write proves a session, on {@link #server}. */
  static Duration certain(Duration session) {
    Duration unheard = TICK.plus(session.dividedBy(15)).multipliedBy(2);
    return session.multipliedBy(99).dividedBy(100).minus(unheard);
  }

  static CuratorFramework curator(String connectString) {
    return curator(connectString, TTL);
  }

  static CuratorFramework curator(String connectString, Duration session) {
    CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(connectString)
            .sessionTimeoutMs(Math.toIntExact(session.toMillis()))
            .connectionTimeoutMs(10_000)
            .retryPolicy((count, elapsed, sleeper) -> false)
            .zkClientConfig(withoutSasl())
            .build();
    curator.start();
    return curator;
  }

  /**
   * Without SASL: with it a driver looks up the server's name before it connects, which may take
   * long.
   */
  static ZKClientConfig withoutSasl() {
    ZKClientConfig config = new ZKClientConfig();
    config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
    return config;
  }

  /** Ends the session as the servers would: its nodes are deleted, and its client is notified. */
  static void expire(CuratorFramework curator, String connectString) throws Exception {
    ZooKeeper driver = curator.getZookeeperClient().getZooKeeper();
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper twin =
        new ZooKeeper(
            connectString,
            driver.getSessionTimeout(),
            event -> {
              if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
              }
            },
            driver.getSessionId(),
            driver.getSessionPasswd(),
            false,
            new StaticHostProvider(new ConnectStringParser(connectString).getServerAddresses()),
            withoutSasl());
    connected.await();
    twin.close();
  }

  static BackendContext context(LockOptions options) {
    return context(options, (claim, detail) -> {});
  }

  static BackendContext context(LockOptions options, BiConsumer<Claim, String> onLoss) {
    return context(options, TIME, onLoss);
  }

  static BackendContext context(
      LockOptions options, TimeSource time, BiConsumer<Claim, String> onLoss) {
    return new BackendContext() {
      @Override
      public LockOptions options() {
        return options;
      }

      @Override
      public TimeSource time() {
        return time;
      }

      @Override
      public void reportLoss(Claim claim, LossReason reason, String detail) {
        onLoss.accept(claim, reason + ": " + detail);
      }
    };
  }

  static ZooKeeperBackend open(String uri) {
    return (ZooKeeperBackend) new ZooKeeperProvider().open(LockUri.parse(uri), context(OPTIONS));
  }

  static ZooKeeperBackend on(CuratorFramework curator) {
    return (ZooKeeperBackend) ZooKeeperLocks.backend(curator, SETTINGS, context(OPTIONS));
  }

  static Claim claim(String name) {
    return claim(name, "host/1/test");
  }

  static Claim claim(String name, String holder) {
    return claim(name, holder, TTL);
  }

  static Claim claim(String name, String holder, Duration ttl) {
    return new Claim(name, id(), ttl, true, holder, System.nanoTime());
  }

  static Claim claim(String name, Share share) {
    return claim(name, "host/1/test", share);
  }

  static Claim claim(String name, String holder, Share share) {
    return new Claim(name, id(), TTL, true, holder, System.nanoTime(), share, Duration.ZERO);
  }

  /** The id of a claim. */
  static String id() {
    StringBuilder id = new StringBuilder();
    for (int i = 0; i < 27; i++) {
      id.append(ID_CHARACTERS.charAt(ThreadLocalRandom.current().nextInt(64)));
    }
    return id.toString();
  }

  static Deadline soon() {
    return Deadline.in(TIME, Duration.ofSeconds(20));
  }

  /** Acquires a lock that must be free. */
  static Grant take(LockBackend backend, Claim claim) throws InterruptedException {
    return granted(backend.tryAcquire(claim, soon()));
  }

  static Grant granted(Attempt attempt) {
    if (attempt instanceof Attempt.Granted granted) {
      return granted.grant();
    }
    throw new AssertionError("not granted: " + attempt);
  }
}
