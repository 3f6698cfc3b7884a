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
 * A ShedLock provider. It has attempts only: a wait is one attempt, and the rest of the wait is not
 * offered. Where leases are to be renewed, ShedLock's {@code KeepAliveLockProvider} extends them.
 */
final class ShedLockPeer implements Peer {
  /** Less is refused by {@code KeepAliveLockProvider}. */
  static final Duration SHORTEST_KEPT_ALIVE = Duration.ofSeconds(30);

  private final ScheduledExecutorService executor = Executors.newScheduledThreadPool(1);
  private final ExtensibleLockProvider provider;
  private final LockProvider keepAlive;
  private final UnaryOperator<Duration> kept;
  private final AutoCloseable resources;

  /**
   * Adapts a provider.
   *
   * @param provider the provider
   * @param kept makes of lockAtMostFor how long the store keeps the lock of a dead process
   * @param resources what to close with it
   */
  ShedLockPeer(
      ExtensibleLockProvider provider, UnaryOperator<Duration> kept, AutoCloseable resources) {
    this.provider = provider;
    this.keepAlive = new KeepAliveLockProvider(provider, executor);
    this.kept = kept;
    this.resources = resources;
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost) {
    if (terms.renewed() && terms.ttl().compareTo(SHORTEST_KEPT_ALIVE) < 0) {
      throw new NotOfferedException("a lock of less than 30 s that is kept alive");
    }
    LeaseTime time = LeaseTime.startingNow(terms.ttl());
    SimpleLock lock =
        (terms.renewed() ? keepAlive : provider)
            .lock(new LockConfiguration(ClockProvider.now(), name, terms.ttl(), Duration.ZERO))
            .orElse(null);
    if (lock != null) {
      return new Held(lock, time, kept.apply(terms.ttl()), terms.renewed());
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

  /** A lock with the {@code SimpleLock} of its last extension. */
  private static final class Held extends Hold {
    private final Duration kept;
    private volatile SimpleLock lock;

    Held(SimpleLock lock, LeaseTime time, Duration kept, boolean renewed) {
      super(time, renewed);
      this.lock = lock;
      this.kept = kept;
    }

    @Override
    Duration ttl() {
      return kept;
    }

    @Override
    void renew() {
      if (isRenewed()) {
        throw new NotOfferedException("renewal by the program of a lock that is kept alive");
      }
      LeaseTime extended = LeaseTime.startingNow(time().whole());
      lock =
          lock.extend(extended.whole(), Duration.ZERO)
              .orElseThrow(() -> new IllegalStateException("extend returned empty"));
      extend(extended);
    }

    @Override
    ReleaseOutcome unlock() {
      lock.unlock();
      return ReleaseOutcome.UNKNOWN; // it returns in the same way if the lock had ended
    }
  }
}
