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
 * A lock registry of Spring Integration. Locks have a TTL, and the registry's own scheduler renews
 * them if it was given one.
 *
 * @param registry the registry, whose locks have the usual TTL
 * @param usual the usual terms; whether it renews its locks is the same for all
 * @param resources what to close with it
 */
record SpringPeer(
    RenewableLockRegistry<DistributedLock> registry, Terms usual, AutoCloseable resources)
    implements Peer {

  /** Adapts a registry of Spring's own, which renews its locks if the terms say so. */
  static SpringPeer renewing(
      RenewableLockRegistry<DistributedLock> registry, Terms usual, AutoCloseable resources) {
    ThreadPoolTaskScheduler scheduler = Clients.scheduler();
    if (usual.renewed()) {
      registry.setRenewalTaskScheduler(scheduler);
    }
    return new SpringPeer(
        registry,
        usual,
        () -> {
          scheduler.shutdown();
          resources.close();
        });
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    if (usual.renewed() && !terms.renewed()) {
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
    boolean unusual = !terms.ttl().equals(usual.ttl());
    if (atMost == null) {
      if (unusual) {
        lock.lock(terms.ttl());
      } else {
        lock.lockInterruptibly();
      }
      return true;
    }
    if (unusual) {
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
    return new Hold(time, usual.renewed()) {
      @Override
      void renew() throws Exception {
        LeaseTime extended = LeaseTime.startingNow(ttl());
        owner.run(() -> registry.renewLock(name, extended.whole()));
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
