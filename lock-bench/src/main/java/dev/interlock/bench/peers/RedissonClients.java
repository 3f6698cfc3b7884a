package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's locks, renewed by its watchdog; a client with default settings for each server. */
final class RedissonClients implements Locking {
  private static final int DEFAULT_PORT = 6379;

  private final List<RedissonClient> servers = new ArrayList<>();
  private final Function<String, Lock> locks;

  private RedissonClients(String uri, boolean redLock) {
    try {
      for (LockUri.Endpoint server : LockUri.parse(uri).endpoints(DEFAULT_PORT)) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + server);
        servers.add(Redisson.create(config));
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
    this.locks = redLock ? this::redLock : name -> servers.get(0).getLock(key(name));
  }

  /** {@code RLock} on one server. */
  static Peer<Locking> lock() {
    return new Peer<>("Redisson RLock", (uri, threads) -> new RedissonClients(uri, false));
  }

  /** {@code RedissonRedLock} over all servers. */
  static Peer<Locking> redLock() {
    return new Peer<>("RedissonRedLock", (uri, threads) -> new RedissonClients(uri, true));
  }

  private static String key(String name) {
    return "redisson:" + name;
  }

  @SuppressWarnings("deprecation") // it is what Redisson has for Redlock
  private Lock redLock(String name) {
    return new RedissonRedLock(
        servers.stream().map(server -> server.getLock(key(name))).toArray(RLock[]::new));
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws InterruptedException {
    Lock lock = locks.apply(name);
    return lock.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS)
        ? Optional.of(lock::unlock)
        : Optional.empty();
  }

  @Override
  public void close() {
    servers.forEach(RedissonClient::shutdown);
  }
}
