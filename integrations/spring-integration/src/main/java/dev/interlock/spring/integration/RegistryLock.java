package dev.interlock.spring.integration;

import static java.util.Objects.requireNonNull;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockException;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.support.locks.DistributedLock;

/** The lock of one key. The registry keeps which threads hold it. */
final class RegistryLock implements DistributedLock {

  private final InterlockLockRegistry registry;
  private final String key;
  private final dev.interlock.DistributedLock lock;

  RegistryLock(InterlockLockRegistry registry, String key, dev.interlock.DistributedLock lock) {
    this.registry = registry;
    this.key = key;
    this.lock = lock;
  }

  String name() {
    return lock.name();
  }

  /** Returns whether the current thread already held the lock, and adds a hold if so. */
  private boolean reentered() {
    InterlockLockRegistry.Hold hold = registry.hold(name());
    if (hold == null) {
      return false;
    }
    try {
      hold.lease.ensureHeld();
    } catch (LeaseLostException e) {
      throw notAcquired(e);
    }
    hold.count++;
    return true;
  }

  private boolean begun(Optional<Lease> lease) {
    lease.ifPresent(registry::begin);
    return lease.isPresent();
  }

  private CannotAcquireLockException notAcquired(LockException why) {
    return new CannotAcquireLockException("could not acquire the lock: " + why.getMessage(), why);
  }

  IllegalMonitorStateException notHeld() {
    return new IllegalMonitorStateException(
        "thread "
            + Thread.currentThread().getName()
            + " does not hold the lock \""
            + name()
            + "\"");
  }

  @Override
  public void lock() {
    lockUninterruptibly(lock);
  }

  @Override
  public void lock(Duration ttl) {
    lockUninterruptibly(withTtl(ttl));
  }

  private dev.interlock.DistributedLock withTtl(Duration ttl) {
    return registry.lock(name(), requireNonNull(ttl, "ttl"));
  }

  private void lockUninterruptibly(dev.interlock.DistributedLock acquired) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          lockInterruptibly(acquired);
          return;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    requireUninterrupted();
    lockInterruptibly(lock);
  }

  private void lockInterruptibly(dev.interlock.DistributedLock acquired)
      throws InterruptedException {
    if (!reentered()) {
      try {
        registry.begin(acquired.acquire());
      } catch (LockException e) {
        throw notAcquired(e);
      }
    }
  }

  @Override
  public boolean tryLock() {
    try {
      return reentered() || begun(lock.tryAcquire());
    } catch (LockException e) {
      throw notAcquired(e);
    }
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    return tryLock(lock, Duration.ofNanos(unit.toNanos(time)));
  }

  @Override
  public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
    return tryLock(withTtl(ttl), waitTime);
  }

  private boolean tryLock(dev.interlock.DistributedLock acquired, Duration waitTime)
      throws InterruptedException {
    requireUninterrupted();
    try {
      return reentered()
          || begun(acquired.tryAcquire(waitTime.isNegative() ? Duration.ZERO : waitTime));
    } catch (LockException e) {
      throw notAcquired(e);
    }
  }

  private static void requireUninterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  @Override
  public void unlock() {
    InterlockLockRegistry.Hold hold = registry.hold(name());
    if (hold == null) {
      throw notHeld();
    }
    if (--hold.count > 0) {
      try {
        hold.lease.ensureHeld();
      } catch (LeaseLostException e) {
        throw lost(e);
      }
      return;
    }
    registry.end(name());
    if (hold.lease.release() == ReleaseOutcome.ALREADY_LOST) {
      throw lost(hold.lease.lost().getNow(null));
    }
  }

  private ConcurrentModificationException lost(@Nullable LeaseLostException why) {
    return new ConcurrentModificationException(
        "lock \""
            + name()
            + "\" had ended before it was unlocked, so what it protects may have been changed by"
            + " another holder",
        why);
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a distributed lock has no conditions");
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RegistryLock that && registry == that.registry && key.equals(that.key);
  }

  @Override
  public int hashCode() {
    return key.hashCode();
  }

  @Override
  public String toString() {
    return "Lock[" + key + " of " + registry + "]";
  }
}
