package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/**
 * Spring Integration's registry of locks on Redis, over Lettuce. Waits by pub/sub; all other
 * settings are the defaults: locks expire after a minute and are not renewed.
 */
final class SpringRegistry implements Locking {
  private static final int DEFAULT_PORT = 6379;

  private final LettuceConnectionFactory connections;
  private final RedisLockRegistry registry;

  private SpringRegistry(LockUri.Endpoint server) {
    this.connections = new LettuceConnectionFactory(server.host(), server.port());
    connections.afterPropertiesSet();
    connections.start();
    this.registry = new RedisLockRegistry(connections, "spring");
    registry.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
  }

  static Peer<Locking> lock() {
    return new Peer<>(
        "Spring Integration",
        (uri, threads) -> new SpringRegistry(LockUri.parse(uri).endpoints(DEFAULT_PORT).get(0)));
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws InterruptedException {
    Lock lock = registry.obtain(name);
    return lock.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS)
        ? Optional.of(lock::unlock)
        : Optional.empty();
  }

  @Override
  public void close() {
    registry.destroy();
    connections.destroy();
  }
}
