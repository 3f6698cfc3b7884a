package dev.interlock.peers;

import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.UnaryOperator;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.jspecify.annotations.Nullable;

/**
 * Adapts a provider of ShedLock. It offers attempts only, so a wait is one attempt; if that fails,
 * the wait is not offered. If leases must be renewed, ShedLock's {@code KeepAliveLockProvider}
 * extends them.
 */
final class ShedLockPeer implements Peer {
  /** The minimum lease time that {@code KeepAliveLockProvider} accepts. */
  static final Duration MIN_KEEP_ALIVE = Duration.ofSeconds(30);

  private final ScheduledExecutorService executor = Executors.newScheduledThreadPool(1);
  private final ExtensibleLockProvider provider;
  private final LockProvider keepAlive;
  private final UnaryOperator<Duration> storeTtl;
  private final AutoCloseable resources;

  /**
   * Adapts a provider.
   *
   * @param provider the provider
   * @param storeTtl returns, for a lockAtMostFor, how long the store keeps the lock of a dead
   *     process
   * @param resources closed with this peer
   */
  ShedLockPeer(
      ExtensibleLockProvider provider, UnaryOperator<Duration> storeTtl, AutoCloseable resources) {
    this.provider = provider;
    this.keepAlive = new KeepAliveLockProvider(provider, executor);
    this.storeTtl = storeTtl;
    this.resources = resources;
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost) {
    if (terms.renewed() && terms.ttl().compareTo(MIN_KEEP_ALIVE) < 0) {
      throw new NotOfferedException("a lock of less than 30 s that is kept alive");
    }
    LeaseTime time = LeaseTime.startingNow(terms.ttl());
    SimpleLock lock =
        (terms.renewed() ? keepAlive : provider)
            .lock(new LockConfiguration(ClockProvider.now(), name, terms.ttl(), Duration.ZERO))
            .orElse(null);
    if (lock != null) {
      return new Held(lock, time, storeTtl.apply(terms.ttl()), terms.renewed());
    }
    if (atMost == null || !atMost.isZero()) {
      throw new NotOfferedException("a wait for a lock that is held");
    }
    return null;
  }

  @Override
  public void close() throws Exception {
    executor.shutdownNow();
    resources.close();
  }

  /** A held lock; each extension replaces its {@code SimpleLock}. */
  private static final class Held extends Hold {
    private final Duration storeTtl;
    private volatile SimpleLock lock;

    Held(SimpleLock lock, LeaseTime time, Duration storeTtl, boolean renewed) {
      super(time, renewed);
      this.lock = lock;
      this.storeTtl = storeTtl;
    }

    @Override
    Duration ttl() {
      return storeTtl;
    }

    @Override
    void renew() {
      if (isRenewed()) {
        throw new NotOfferedException("renewal by the program of a lock that is kept alive");
      }
      LeaseTime extended = LeaseTime.startingNow(time().duration());
      lock =
          lock.extend(extended.duration(), Duration.ZERO)
              .orElseThrow(() -> new IllegalStateException("extend returned empty"));
      extend(extended);
    }

    @Override
    ReleaseOutcome unlock() {
      lock.unlock();
      return ReleaseOutcome.UNKNOWN; // unlock does not tell whether the lock was still held
    }
  }
}
