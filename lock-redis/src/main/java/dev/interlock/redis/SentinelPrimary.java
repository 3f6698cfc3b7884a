package dev.interlock.redis;

import dev.interlock.spi.DaemonThreads;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Our pool of connections to the current primary, which Jedis's provider learns from the sentinels.
 * That may miss a change. So when its primary fails or is a replica, a thread asks the sentinels;
 * it ends when there is nothing to do.
 */
final class SentinelPrimary implements Supplier<LockPool>, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SentinelPrimary.class);

  /** The shortest time between two questions, however many requests fail meanwhile. */
  private static final Duration PAUSE = Duration.ofMillis(200);

  private final Function<HostAndPort, LockPool> makePool;
  private final ScheduledThreadPoolExecutor asking =
      DaemonThreads.one("interlock-redis-sentinel", Duration.ofSeconds(2));
  private final AtomicBoolean inDoubt = new AtomicBoolean();
  private volatile long askNotBefore = System.nanoTime();
  private volatile Sentinels sentinels;
  private volatile @Nullable Primary current;
  private volatile boolean closed; // written under the monitor

  private record Primary(HostAndPort address, LockPool pool) {}

  /** Takes over the sentinels, and closes them. */
  SentinelPrimary(Sentinels sentinels, Function<HostAndPort, LockPool> makePool) {
    this.sentinels = sentinels;
    this.makePool = makePool;
  }

  @Override
  public LockPool get() {
    HostAndPort address = sentinels.getCurrentMaster();
    Primary primary = current;
    return primary != null && primary.address().equals(address)
        ? primary.pool()
        : changeTo(address);
  }

  private synchronized LockPool changeTo(HostAndPort address) {
    Primary primary = current;
    if (primary != null && (closed || primary.address().equals(address))) {
      return primary.pool();
    }
    LockPool pool = makePool.apply(address);
    current = new Primary(address, pool);
    if (primary != null) {
      // Connections in use are closed when they are returned.
      primary.pool().close();
    }
    return pool;
  }

  /** Makes the thread ask soon whether the primary has changed. */
  void doubt() {
    if (inDoubt.compareAndSet(false, true)) {
      try {
        var unused =
            asking.schedule(
                this::ask, Math.max(0, askNotBefore - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException | OutOfMemoryError e) {
        // Closed, or no thread can be created.
        inDoubt.set(false);
      }
    }
  }

  private void ask() {
    askNotBefore = System.nanoTime() + PAUSE.toNanos();
    // A request that fails from now on may be more recent than the answer.
    inDoubt.set(false);
    try {
      if (sentinels.haveMissedAChange() && !closed) {
        log.info("a change of the primary was missed; connecting to the sentinels again");
        listenBy(sentinels.again());
      }
    } catch (JedisException e) {
      log.debug("the sentinels do not name the primary", e);
    }
  }

  private void listenBy(Sentinels others) {
    Sentinels unwanted = others;
    synchronized (this) {
      if (!closed) {
        unwanted = sentinels;
        sentinels = others;
      }
    }
    unwanted.close();
  }

  @Override
  public synchronized void close() {
    closed = true;
    asking.shutdown();
    sentinels.close();
    if (current != null) {
      current.pool().close();
    }
  }
}
