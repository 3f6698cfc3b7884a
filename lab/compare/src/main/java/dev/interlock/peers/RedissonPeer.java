package dev.interlock.peers;

import dev.interlock.LockState;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.LockStates;
import dev.interlock.tck.run.NotOfferedException;
import dev.interlock.tck.run.NotTestedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Adapts the locks of Redisson. A lock without a lease time is renewed by the watchdog. */
final class RedissonPeer implements Peer {
  private static final Duration VERY_LONG = Duration.ofDays(1);

  enum Kind {
    LOCK,
    FENCED,
    RED
  }

  private final Kind kind;
  private final List<RedissonClient> clients = new ArrayList<>();
  private final Duration watchdog;

  /** The owner id for the next asynchronous acquisition; it is not the id of any thread. */
  private final AtomicLong nextOwner = new AtomicLong(Long.MIN_VALUE);

  RedissonPeer(Kind kind, List<String> addresses, Terms terms, Duration requestTimeout) {
    this.kind = kind;
    Config defaults = new Config();
    this.watchdog =
        terms.renewed() ? terms.ttl() : Duration.ofMillis(defaults.getLockWatchdogTimeout());
    try {
      for (String address : addresses) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdog.toMillis());
        config.setNettyThreads(4); // the kit opens dozens of clients, and threads need file handles
        config
            .useSingleServer()
            .setTimeout(Math.toIntExact(requestTimeout.toMillis()))
            .setConnectionMinimumIdleSize(1); // many clients start concurrently
        clients.add(Clients.redisson(address, config));
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private RLock lock(String name) {
    return switch (kind) {
      case LOCK -> clients.get(0).getLock(name);
      case FENCED -> clients.get(0).getFencedLock(name);
      case RED -> Clients.redLock(clients, name);
    };
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    RLock lock = lock(name);
    LeaseTime time = LeaseTime.startingNow(terms.renewed() ? watchdog : terms.ttl());
    return OwnerThread.acquire(
        () -> acquire(lock, terms, atMost),
        (owner, token) -> hold(lock, owner, owner.id(), terms, time, token));
  }

  /** {@return the token, or 0 if the lock has none; null if the lock was not acquired} */
  private static @Nullable Long acquire(RLock lock, Terms terms, @Nullable Duration atMost)
      throws InterruptedException {
    TimeUnit unit = TimeUnit.MILLISECONDS;
    long ttl = terms.ttl().toMillis();
    if (lock instanceof RFencedLock fenced) {
      // A single attempt needs a wait of zero: without a time, the call waits for the holder.
      long wait = (atMost == null ? VERY_LONG : atMost).toMillis();
      return terms.renewed()
          ? fenced.tryLockAndGetToken(wait, unit)
          : fenced.tryLockAndGetToken(wait, ttl, unit);
    }
    boolean acquired = true;
    if (atMost == null) {
      if (terms.renewed()) {
        lock.lockInterruptibly();
      } else {
        lock.lockInterruptibly(ttl, unit);
      }
    } else if (terms.renewed()) {
      acquired = atMost.isZero() ? lock.tryLock() : lock.tryLock(atMost.toMillis(), unit);
    } else {
      acquired = lock.tryLock(atMost.toMillis(), ttl, unit);
    }
    return acquired ? 0L : null;
  }

  @Override
  public CompletableFuture<@Nullable Hold> acquireAsync(
      String name, Terms terms, @Nullable Duration atMost) {
    if (kind != Kind.LOCK) {
      throw new NotOfferedException("an asynchronous acquisition whose owner is not a thread");
    }
    RLock lock = lock(name);
    long owner = nextOwner.getAndIncrement();
    LeaseTime time = LeaseTime.startingNow(terms.renewed() ? watchdog : terms.ttl());
    long ttl = terms.renewed() ? -1 : terms.ttl().toMillis();
    Hold hold = hold(lock, null, owner, terms, time, 0);
    if (atMost == null) {
      RFuture<Void> request = lock.lockAsync(ttl, TimeUnit.MILLISECONDS, owner);
      return new AdaptedFuture<>(request, nothing -> hold, UnaryOperator.identity());
    }
    RFuture<Boolean> request =
        lock.tryLockAsync(atMost.toMillis(), ttl, TimeUnit.MILLISECONDS, owner);
    return new AdaptedFuture<>(
        request, acquired -> acquired ? hold : null, UnaryOperator.identity());
  }

  @Override
  public Lock view(String name, Terms terms) {
    if (!terms.renewed()) {
      throw new NotOfferedException("a java.util.concurrent.locks.Lock with a lease time");
    }
    return lock(name);
  }

  @Override
  public RuntimeException multiLockRefusal() {
    return new NotTestedException("RedissonMultiLock, which is not adapted");
  }

  @Override
  public LockState inspect(String name) {
    RLock lock = lock(name);
    try {
      return lock.isLocked()
          ? LockStates.held(
              name, null, null, Duration.ofMillis(Math.max(0, lock.remainTimeToLive())), List.of())
          : LockStates.free(name);
    } catch (UnsupportedOperationException e) {
      throw new NotOfferedException("a query of a lock's state");
    }
  }

  @Override
  public boolean forceUnlock(String name) {
    try {
      return lock(name).forceUnlock();
    } catch (UnsupportedOperationException e) {
      throw new NotOfferedException("a forced release");
    }
  }

  @Override
  public void close() {
    clients.forEach(RedissonClient::shutdown);
  }

  /** {@return a hold whose owner is a thread or, for an asynchronous acquisition, an id} */
  private static Hold hold(
      RLock lock,
      @Nullable OwnerThread thread,
      long owner,
      Terms terms,
      LeaseTime time,
      long token) {
    return new Hold(time, terms.renewed()) {
      @Override
      boolean isHeld() {
        try {
          return lock.isHeldByThread(owner);
        } catch (UnsupportedOperationException e) {
          throw new NotOfferedException("whether a lock is held");
        }
      }

      @Override
      @SuppressWarnings("deprecation") // Redisson has nothing else for several servers
      ReleaseOutcome unlock() throws Exception {
        try {
          if (thread == null) {
            lock.unlockAsync(owner).toCompletableFuture().get();
          } else {
            thread.run(lock::unlock);
            thread.close();
          }
          // The unlock of RedissonRedLock does not tell whether any server still held the lock.
          return lock instanceof RedissonRedLock ? ReleaseOutcome.UNKNOWN : ReleaseOutcome.RELEASED;
        } catch (IllegalMonitorStateException e) {
          return ReleaseOutcome.ALREADY_LOST;
        }
      }

      @Override
      long token() {
        return lock instanceof RFencedLock ? token : super.token();
      }
    };
  }
}
