package dev.interlock.redis;

import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.providers.SentineledConnectionProvider;

/**
 * A pool of our own for the master of the moment, which Jedis's provider learns from the sentinels.
 */
final class SentinelMaster implements Supplier<LockPool>, AutoCloseable {

  private final SentineledConnectionProvider sentinels;
  private final Function<HostAndPort, LockPool> makePool;
  private volatile @Nullable Master current;

  private record Master(HostAndPort address, LockPool pool) {}

  SentinelMaster(SentineledConnectionProvider sentinels, Function<HostAndPort, LockPool> makePool) {
    this.sentinels = sentinels;
    this.makePool = makePool;
  }

  @Override
  public LockPool get() {
    HostAndPort address = sentinels.getCurrentMaster();
    Master master = current;
    return master != null && master.address().equals(address) ? master.pool() : changeTo(address);
  }

  private synchronized LockPool changeTo(HostAndPort address) {
    Master master = current;
    if (master != null && master.address().equals(address)) {
      return master.pool();
    }
    LockPool pool = makePool.apply(address);
    current = new Master(address, pool);
    if (master != null) {
      // Whatever is in use is closed when it is given back.
      master.pool().close();
    }
    return pool;
  }

  @Override
  public synchronized void close() {
    sentinels.close();
    if (current != null) {
      current.pool().close();
    }
  }
}
