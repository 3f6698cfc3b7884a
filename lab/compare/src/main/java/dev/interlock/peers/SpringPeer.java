package dev.interlock.peers;

import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * Adapts a lock registry of Spring Integration. Locks have a TTL; the registry renews them if it
 * has a scheduler.
 *
 * @param registry the registry, whose locks have the default TTL
 * @param defaults the default terms; either all locks of a registry are renewed, or none
 * @param resources closed with this peer
 */
record SpringPeer(
    RenewableLockRegistry<DistributedLock> registry, Terms defaults, AutoCloseable resources)
    implements Peer {

  /** Adapts one of Spring's own registries, which renews its locks if the terms say so. */
  static SpringPeer renewing(
      RenewableLockRegistry<DistributedLock> registry, Terms defaults, AutoCloseable resources) {
    ThreadPoolTaskScheduler scheduler = Clients.scheduler();
    if (defaults.renewed()) {
      registry.setRenewalTaskScheduler(scheduler);
    }
    return new SpringPeer(
        registry,
        defaults,
        () -> {
          scheduler.shutdown();
          resources.close();
        });
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    if (defaults.renewed() && !terms.renewed()) {
      throw new NotOfferedException("locks with and without renewal in one registry");
    }
    DistributedLock lock = registry.obtain(name);
    LeaseTime time = LeaseTime.startingNow(terms.ttl());
    return OwnerThread.acquire(
        () -> acquire(lock, terms, atMost) ? lock : null,
        (owner, acquired) -> hold(name, acquired, owner, time));
  }

  private boolean acquire(DistributedLock lock, Terms terms, @Nullable Duration atMost)
      throws InterruptedException {
    boolean hasOwnTtl = !terms.ttl().equals(defaults.ttl());
    if (atMost == null) {
      if (hasOwnTtl) {
        lock.lock(terms.ttl());
      } else {
        lock.lockInterruptibly();
      }
      return true;
    }
    if (hasOwnTtl) {
      return lock.tryLock(atMost, terms.ttl());
    }
    return atMost.isZero()
        ? lock.tryLock()
        : lock.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public Lock view(String name, Terms terms) {
    return registry.obtain(name);
  }

  @Override
  public void close() throws Exception {
    resources.close();
  }

  private Hold hold(String name, DistributedLock lock, OwnerThread owner, LeaseTime time) {
    return new Hold(time, defaults.renewed()) {
      @Override
      void renew() throws Exception {
        LeaseTime extended = LeaseTime.startingNow(ttl());
        owner.run(() -> registry.renewLock(name, extended.duration()));
        extend(extended);
      }

      @Override
      ReleaseOutcome unlock() throws Exception {
        try {
          owner.run(lock::unlock);
          return ReleaseOutcome.RELEASED;
        } catch (ConcurrentModificationException | IllegalMonitorStateException e) {
          return ReleaseOutcome.ALREADY_LOST;
        } finally {
          owner.close();
        }
      }
    };
  }
}
