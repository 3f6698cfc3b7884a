package dev.interlock.spring.integration;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LeasedLock;
import dev.interlock.LockException;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.support.locks.DistributedLock;

/** The lock of one key: a {@link LeasedLock} that throws Spring's exceptions. */
final class RegistryLock implements DistributedLock {

  private final InterlockLockRegistry registry;
  private final String name;
  private final LeasedLock lock;

  RegistryLock(InterlockLockRegistry registry, String name, LeasedLock lock) {
    this.registry = registry;
    this.name = name;
    this.lock = lock;
  }

  Optional<Lease> lease() {
    return lock.lease();
  }

  @Override
  public void lock() {
    lock(lock);
  }

  @Override
  public void lock(Duration ttl) {
    lock(registry.lockWithTtl(name, ttl));
  }

  private static void lock(LeasedLock lock) {
    try {
      lock.lock();
    } catch (LockException e) {
      throw notAcquired(e);
    }
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    try {
      lock.lockInterruptibly();
    } catch (LockException e) {
      throw notAcquired(e);
    }
  }

  @Override
  public boolean tryLock() {
    try {
      return lock.tryLock();
    } catch (LockException e) {
      throw notAcquired(e);
    }
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    return tryLock(lock, time, unit);
  }

  @Override
  public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
    TimeUnit unit = TimeUnit.NANOSECONDS;
    return tryLock(registry.lockWithTtl(name, ttl), unit.convert(waitTime), unit);
  }

  private static boolean tryLock(LeasedLock lock, long time, TimeUnit unit)
      throws InterruptedException {
    try {
      return lock.tryLock(time, unit);
    } catch (LockException e) {
      throw notAcquired(e);
    }
  }

  private static CannotAcquireLockException notAcquired(LockException cause) {
    return new CannotAcquireLockException(
        "could not acquire the lock: " + cause.getMessage(), cause);
  }

  @Override
  public void unlock() {
    try {
      lock.unlock();
    } catch (LeaseLostException e) {
      throw new ConcurrentModificationException(
          "lock \""
              + name
              + "\" was lost before it was unlocked; another holder may have changed what it"
              + " protects",
          e);
    }
  }

  @Override
  public Condition newCondition() {
    return lock.newCondition();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RegistryLock that
        && registry == that.registry
        && name.equals(that.name);
  }

  @Override
  public int hashCode() {
    return name.hashCode();
  }

  @Override
  public String toString() {
    return "Lock[" + name + " of " + registry + "]";
  }
}
