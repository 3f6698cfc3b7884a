package dev.interlock.tck.specimen;

import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** Forwards every call to another view. */
abstract class ForwardingView implements LeasedLock {
  private final LeasedLock right;

  ForwardingView(LeasedLock right) {
    this.right = right;
  }

  @Override
  public void lock() {
    right.lock();
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    right.lockInterruptibly();
  }

  @Override
  public boolean tryLock() {
    return right.tryLock();
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    return right.tryLock(time, unit);
  }

  @Override
  public void unlock() {
    right.unlock();
  }

  @Override
  public Condition newCondition() {
    return right.newCondition();
  }

  @Override
  public Optional<Lease> lease() {
    return right.lease();
  }
}
