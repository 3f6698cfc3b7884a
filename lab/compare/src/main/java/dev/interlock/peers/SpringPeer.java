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

/**
 * A lock registry of Spring Integration. Locks have a TTL, and the registry's own scheduler renews
 * them if it was given one.
 */
final class SpringPeer implements Peer {
  private final RenewableLockRegistry<DistributedLock> registry;
  private final Terms usual;
  private final boolean renews;
  private final AutoCloseable resources;

  /**
   * Adapts a registry.
   *
   * @param registry the registry, whose locks have the usual TTL
   * @param usual the usual terms
   * @param renews whether it renews its locks
   * @param resources what to close with it
   */
  SpringPeer(
      RenewableLockRegistry<DistributedLock> registry,
      Terms usual,
      boolean renews,
      AutoCloseable resources) {
    this.registry = registry;
    this.usual = usual;
    this.renews = renews;
    this.resources = resources;
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    if (renews && !terms.renewed()) {
      throw new NotOfferedException("locks with and without renewal in one registry");
    }
    Terms granted = new Terms(terms.ttl(), renews);
    DistributedLock lock = registry.obtain(name);
    OwnerThread owner = new OwnerThread();
    boolean held = false;
    try {
      LeaseTime time = LeaseTime.startingNow(terms.ttl());
      held = owner.call(() -> acquire(lock, terms, atMost));
      return held ? new Held(registry, lock, name, owner, new Time(time, granted)) : null;
    } finally {
      if (!held) {
        owner.close();
      }
    }
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

  /** Counts the time of the lease anew after each renewal by the program. */
  private static final class Time {
    private final Terms terms;
    private volatile LeaseTime current;

    Time(LeaseTime first, Terms terms) {
      this.current = first;
      this.terms = terms;
    }
  }

  /** A lock that was acquired by a thread of its own. */
  private record Held(
      RenewableLockRegistry<DistributedLock> registry,
      DistributedLock lock,
      String name,
      OwnerThread owner,
      Time time)
      implements Hold {

    @Override
    public Duration ttl() {
      return time.terms.ttl();
    }

    @Override
    public Duration validity() {
      return time.terms.renewed() ? Hold.super.validity() : time.current.left();
    }

    /** There is no query. A holder knows that it has locked, and when the TTL is over. */
    @Override
    public boolean isHeld() {
      return time.terms.renewed() || !time.current.left().isZero();
    }

    @Override
    public void renew() throws Exception {
      LeaseTime renewed = LeaseTime.startingNow(ttl());
      owner.call(
          () -> {
            registry.renewLock(name, renewed.whole());
            return true;
          });
      time.current = renewed;
    }

    @Override
    public ReleaseOutcome unlock() throws Exception {
      try {
        owner.call(
            () -> {
              lock.unlock();
              return true;
            });
        return ReleaseOutcome.RELEASED;
      } catch (ConcurrentModificationException | IllegalMonitorStateException e) {
        return ReleaseOutcome.ALREADY_LOST;
      } finally {
        owner.close();
      }
    }
  }
}
