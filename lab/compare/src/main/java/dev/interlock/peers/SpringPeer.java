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
  private final AutoCloseable resources;

  /**
   * Adapts a registry.
   *
   * @param registry the registry, whose locks have the usual TTL
   * @param usual the usual terms; whether it renews its locks is the same for all
   * @param resources what to close with it
   */
  SpringPeer(
      RenewableLockRegistry<DistributedLock> registry, Terms usual, AutoCloseable resources) {
    this.registry = registry;
    this.usual = usual;
    this.resources = resources;
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    if (usual.renewed() && !terms.renewed()) {
      throw new NotOfferedException("locks with and without renewal in one registry");
    }
    DistributedLock lock = registry.obtain(name);
    OwnerThread owner = new OwnerThread();
    boolean held = false;
    try {
      LeaseTime time = LeaseTime.startingNow(terms.ttl());
      held = owner.call(() -> acquire(lock, terms, atMost));
      return held ? new Held(name, lock, owner, time) : null;
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

  /** A lock that was acquired by a thread of its own, with the time of its last renewal. */
  private final class Held implements Hold {
    private final String name;
    private final DistributedLock lock;
    private final OwnerThread owner;
    private volatile LeaseTime time;

    Held(String name, DistributedLock lock, OwnerThread owner, LeaseTime time) {
      this.name = name;
      this.lock = lock;
      this.owner = owner;
      this.time = time;
    }

    @Override
    public Duration ttl() {
      return time.whole();
    }

    @Override
    public Duration validity() {
      return usual.renewed() ? Hold.super.validity() : time.left();
    }

    /** There is no query. A holder knows that it has locked, and when the TTL is over. */
    @Override
    public boolean isHeld() {
      return usual.renewed() || !time.left().isZero();
    }

    @Override
    public void renew() throws Exception {
      LeaseTime renewed = LeaseTime.startingNow(ttl());
      owner.run(() -> registry.renewLock(name, renewed.whole()));
      time = renewed;
    }

    @Override
    public ReleaseOutcome unlock() throws Exception {
      try {
        owner.run(lock::unlock);
        return ReleaseOutcome.RELEASED;
      } catch (ConcurrentModificationException | IllegalMonitorStateException e) {
        return ReleaseOutcome.ALREADY_LOST;
      } finally {
        owner.close();
      }
    }
  }
}
