package dev.interlock.compare;

import dev.interlock.peers.Clients;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/**
 * The locks of other libraries, with clients that have default settings. Redisson's watchdog renews
 * its locks; those of Spring expire after a minute.
 */
final class OtherLocks {

  /** The lease time of a permit: the default time-out of Redisson's watchdog. */
  private static final long PERMIT_MILLIS = 30_000;

  /** The default of Lettuce. */
  private static final Duration LETTUCE_TIMEOUT = Duration.ofSeconds(60);

  private OtherLocks() {}

  private static Optional<AutoCloseable> ifAcquired(boolean acquired, AutoCloseable release) {
    return acquired ? Optional.of(release) : Optional.empty();
  }

  private static Locking locks(AutoCloseable client, Function<String, Lock> locks) {
    return Locking.of(
        client,
        (name, atMost) -> {
          Lock lock = locks.apply(name);
          return ifAcquired(lock.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS), lock::unlock);
        });
  }

  /** {@return {@code RLock} on one server} */
  static Competitor<Locking> rLock() {
    return redisson("Redisson RLock", RedissonClient::getLock);
  }

  /** {@return the read lock of {@code RReadWriteLock} on one server} */
  static Competitor<Locking> rReaders() {
    return redisson("RReadWriteLock", (client, key) -> client.getReadWriteLock(key).readLock());
  }

  private static Competitor<Locking> redisson(
      String name, BiFunction<RedissonClient, String, Lock> locks) {
    return new Competitor<>(
        name,
        (uri, threads) -> {
          RedissonClient client = redisson(uri);
          return locks(client::shutdown, key -> locks.apply(client, "redisson:" + key));
        });
  }

  private static RedissonClient redisson(String uri) {
    return Clients.redisson(Clients.addresses(uri).get(0), new Config());
  }

  /** {@return {@code RedissonRedLock} on all servers} */
  static Competitor<Locking> redLock() {
    return new Competitor<>(
        "RedissonRedLock",
        (uri, threads) -> {
          List<RedissonClient> clients = new ArrayList<>();
          AutoCloseable all = () -> clients.forEach(RedissonClient::shutdown);
          try {
            for (String address : Clients.addresses(uri)) {
              clients.add(Clients.redisson(address, new Config()));
            }
          } catch (RuntimeException e) {
            all.close();
            throw e;
          }
          return locks(all, key -> Clients.redLock(clients, "redisson:" + key));
        });
  }

  /** {@return a permit of {@code RPermitExpirableSemaphore} on one server; it is not renewed} */
  static Competitor<Locking> rPermits(int limit) {
    return new Competitor<>(
        "RPermitExpirableSemaphore",
        (uri, threads) -> {
          RedissonClient client = redisson(uri);
          Set<String> initialized = ConcurrentHashMap.newKeySet(); // names whose limit has been set
          return Locking.of(
              client::shutdown,
              (name, atMost) -> {
                RPermitExpirableSemaphore semaphore =
                    client.getPermitExpirableSemaphore("redisson:" + name);
                if (initialized.add(name)) {
                  var unused = semaphore.trySetPermits(limit);
                }
                String permit =
                    semaphore.tryAcquire(atMost.toMillis(), PERMIT_MILLIS, TimeUnit.MILLISECONDS);
                return ifAcquired(permit != null, () -> semaphore.release(permit));
              });
        });
  }

  /** {@return Spring Integration's registry on Redis, which uses Lettuce and waits by pub/sub} */
  static Competitor<Locking> springRegistry() {
    return new Competitor<>(
        "Spring Integration",
        (uri, threads) -> {
          LettuceConnectionFactory connections =
              Clients.lettuce(Clients.addresses(uri).get(0), LETTUCE_TIMEOUT);
          RedisLockRegistry registry = new RedisLockRegistry(connections, "spring");
          registry.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
          AutoCloseable both =
              () -> {
                registry.destroy();
                connections.destroy();
              };
          return locks(both, registry::obtain);
        });
  }

  /** {@return Curator's {@code InterProcessMutex}} */
  static Competitor<Locking> mutex() {
    return curator("InterProcessMutex", InterProcessMutex::new);
  }

  /** {@return the read lock of Curator's {@code InterProcessReadWriteLock}} */
  static Competitor<Locking> zooKeeperReaders() {
    return curator(
        "InterProcessReadWriteLock",
        (curator, path) -> new InterProcessReadWriteLock(curator, path).readLock());
  }

  private static Competitor<Locking> curator(
      String name, BiFunction<CuratorFramework, String, InterProcessLock> locks) {
    return new Competitor<>(
        name, (uri, threads) -> curator(uri, Clients.CURATOR_DEFAULT_SESSION, locks));
  }

  /** Opens a client for {@code InterProcessMutex} with this session time-out. */
  static Locking mutexes(String uri, Duration session) throws InterruptedException {
    return curator(uri, session, InterProcessMutex::new);
  }

  private static Locking curator(
      String uri, Duration session, BiFunction<CuratorFramework, String, InterProcessLock> locks)
      throws InterruptedException {
    CuratorFramework curator = Clients.curator(Clients.addresses(uri), session);
    return Locking.of(
        curator,
        (name, atMost) -> {
          InterProcessLock lock = locks.apply(curator, "/curator/" + name);
          return ifAcquired(lock.acquire(atMost.toMillis(), TimeUnit.MILLISECONDS), lock::release);
        });
  }

  /** {@return a lease of Curator's {@code InterProcessSemaphoreV2}} */
  static Competitor<Locking> zooKeeperPermits(int limit) {
    return new Competitor<>(
        "InterProcessSemaphoreV2",
        (uri, threads) -> {
          CuratorFramework curator =
              Clients.curator(Clients.addresses(uri), Clients.CURATOR_DEFAULT_SESSION);
          return Locking.of(
              curator,
              (name, atMost) ->
                  Optional.ofNullable(
                      new InterProcessSemaphoreV2(curator, "/curator/" + name, limit)
                          .acquire(atMost.toMillis(), TimeUnit.MILLISECONDS)));
        });
  }
}
