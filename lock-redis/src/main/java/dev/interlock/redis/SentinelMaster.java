package dev.interlock.redis;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
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
 * A pool of our own for the master of the moment, which Jedis's provider learns from the sentinels.
 * It does not always hear that the master has changed. So when the one that it names fails or is a
 * replica, the sentinels are asked, by a thread that ends when there is nothing to do.
 */
final class SentinelMaster implements Supplier<LockPool>, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SentinelMaster.class);

  /** From one question to the next, however many requests fail meanwhile. */
  private static final Duration PAUSE = Duration.ofMillis(200);

  private final Function<HostAndPort, LockPool> makePool;
  private final ScheduledThreadPoolExecutor asking;
  private final AtomicBoolean inDoubt = new AtomicBoolean();
  private volatile long askNotBefore = System.nanoTime();
  private volatile Sentinels sentinels;
  private volatile @Nullable Master current;
  private volatile boolean closed; // written under the monitor

  private record Master(HostAndPort address, LockPool pool) {}

  /** Makes one that closes the sentinels when it is closed. */
  SentinelMaster(Sentinels sentinels, Function<HostAndPort, LockPool> makePool) {
    this.sentinels = sentinels;
    this.makePool = makePool;
    this.asking =
        new ScheduledThreadPoolExecutor(
            1,
            new ThreadFactoryBuilder()
                .setDaemon(true)
                .setNameFormat("interlock-redis-sentinel")
                .build());
    asking.setKeepAliveTime(2, TimeUnit.SECONDS);
    asking.allowCoreThreadTimeOut(true);
    asking.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  @Override
  public LockPool get() {
    HostAndPort address = sentinels.getCurrentMaster();
    Master master = current;
    return master != null && master.address().equals(address) ? master.pool() : changeTo(address);
  }

  private synchronized LockPool changeTo(HostAndPort address) {
    Master master = current;
    if (master != null && (closed || master.address().equals(address))) {
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

  /** Has the sentinels asked soon whether the master is still the one that we know. */
  void doubt() {
    if (inDoubt.compareAndSet(false, true)) {
      try {
        var unused =
            asking.schedule(
                this::ask, Math.max(0, askNotBefore - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException | OutOfMemoryError e) {
        // Closed, or no thread is to be had.
        inDoubt.set(false);
      }
    }
  }

  private void ask() {
    askNotBefore = System.nanoTime() + PAUSE.toNanos();
    // Whoever fails from now on may know more than the sentinels are about to tell.
    inDoubt.set(false);
    try {
      if (sentinels.haveMissedAChange() && !closed) {
        log.info("listening to the sentinels anew: they have changed the master unheard");
        listenBy(sentinels.again());
      }
    } catch (JedisException e) {
      log.debug("the sentinels do not tell the master", e);
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
