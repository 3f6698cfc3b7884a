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
 * The provider may miss a change. So when the primary fails, or turns out to be a replica, a thread
 * asks the sentinels. The thread ends when there is nothing to do.
 */
final class SentinelPrimary implements Supplier<LockPool>, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SentinelPrimary.class);

  private static final Duration MIN_CHECK_INTERVAL = Duration.ofMillis(200);

  private final Function<HostAndPort, LockPool> makePool;
  private final ScheduledThreadPoolExecutor checking =
      DaemonThreads.one("interlock-redis-sentinel", Duration.ofSeconds(2));
  private final AtomicBoolean checkIsDue = new AtomicBoolean();
  private volatile long notBefore = System.nanoTime();
  private volatile Sentinels sentinels;
  private volatile @Nullable Primary current;
  private volatile boolean closed; // written under the monitor

  private record Primary(HostAndPort address, LockPool pool) {}

  /** Takes over the sentinels, and closes them in the end. */
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
      // Connections in use are closed when they are given back.
      primary.pool().close();
    }
    return pool;
  }

  /** Makes the thread check whether the primary has changed. */
  void checkSoon() {
    if (checkIsDue.compareAndSet(false, true)) {
      try {
        var unused =
            checking.schedule(
                this::check, Math.max(0, notBefore - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException | OutOfMemoryError e) {
        // Closed, or no thread can be created.
        checkIsDue.set(false);
      }
    }
  }

  private void check() {
    notBefore = System.nanoTime() + MIN_CHECK_INTERVAL.toNanos();
    // A request that fails from now on may be newer than the answer, and needs another check.
    checkIsDue.set(false);
    try {
      if (sentinels.haveMissedChange() && !closed) {
        log.info("a change of the primary was missed; connecting to the sentinels again");
        replaceSentinels(sentinels.reopen());
      }
    } catch (JedisException e) {
      log.debug("the sentinels do not name the primary", e);
    }
  }

  private void replaceSentinels(Sentinels next) {
    Sentinels unwanted = next;
    synchronized (this) {
      if (!closed) {
        unwanted = sentinels;
        sentinels = next;
      }
    }
    unwanted.close();
  }

  @Override
  public synchronized void close() {
    closed = true;
    checking.shutdown();
    sentinels.close();
    if (current != null) {
      current.pool().close();
    }
  }
}
