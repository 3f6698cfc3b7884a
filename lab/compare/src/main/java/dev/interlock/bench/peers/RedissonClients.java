package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's locks, renewed by its watchdog; a client with default settings for each server. */
final class RedissonClients implements Locking {
  private static final int DEFAULT_PORT = 6379;

  /** How long an unreleased permit lives: as long as the library's watchdog keeps locks. */
  private static final long PERMIT_SECONDS = 30;

  /** A kind of lock. */
  private interface Way {
    Optional<AutoCloseable> acquire(RedissonClients clients, String name, Duration atMost)
        throws InterruptedException;
  }

  private final List<RedissonClient> servers = new ArrayList<>();
  private final Way way;

  /** The semaphores whose limit this client has set. */
  private final Set<String> limited = ConcurrentHashMap.newKeySet();

  private RedissonClients(String uri, Way way) {
    this.way = way;
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
  }

  /** {@code RLock} on one server. */
  static Peer<Locking> lock() {
    return peer("Redisson RLock", locking((clients, name) -> clients.first().getLock(key(name))));
  }

  /** {@code RedissonRedLock} over all servers. */
  static Peer<Locking> redLock() {
    return peer("RedissonRedLock", locking(RedissonClients::redLock));
  }

  /** The read lock of {@code RReadWriteLock} on one server. */
  static Peer<Locking> readers() {
    return peer(
        "RReadWriteLock",
        locking((clients, name) -> clients.first().getReadWriteLock(key(name)).readLock()));
  }

  /** One permit of {@code RPermitExpirableSemaphore} on one server; not renewed. */
  static Peer<Locking> permits(int limit) {
    return peer(
        "RPermitExpirableSemaphore",
        (clients, name, atMost) -> {
          RPermitExpirableSemaphore semaphore =
              clients.first().getPermitExpirableSemaphore(key(name));
          if (clients.limited.add(name)) {
            var unused = semaphore.trySetPermits(limit);
          }
          String permit =
              semaphore.tryAcquire(
                  atMost.toMillis(),
                  TimeUnit.SECONDS.toMillis(PERMIT_SECONDS),
                  TimeUnit.MILLISECONDS);
          return permit == null ? Optional.empty() : Optional.of(() -> semaphore.release(permit));
        });
  }

  private static Peer<Locking> peer(String name, Way way) {
    return new Peer<>(name, (uri, threads) -> new RedissonClients(uri, way));
  }

  private static Way locking(BiFunction<RedissonClients, String, Lock> locks) {
    return (clients, name, atMost) -> {
      Lock lock = locks.apply(clients, name);
      return lock.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS)
          ? Optional.of(lock::unlock)
          : Optional.empty();
    };
  }

  private RedissonClient first() {
    return servers.get(0);
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
    return way.acquire(this, name, atMost);
  }

  @Override
  public void close() {
    servers.forEach(RedissonClient::shutdown);
  }
}
