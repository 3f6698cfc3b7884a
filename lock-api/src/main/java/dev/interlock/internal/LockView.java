package dev.interlock.internal;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * A view of a lock as a {@link java.util.concurrent.locks.Lock}, whose holds are in {@link
 * ThreadHolds}.
 */
final class LockView implements LeasedLock {

  private final LockHandle lock;
  private final ThreadHolds holds;

  LockView(LockHandle lock) {
    this.lock = lock;
    this.holds = lock.acquirer.threadHolds;
  }

  /** Adds a hold if the thread already holds the lock; returns whether it does. */
  private boolean tryReenter() {
    lock.engine.ensureOpen();
    return holds.reenter(lock.name, lock.share);
  }

  @CanIgnoreReturnValue
  private boolean acquire(Request request) throws InterruptedException {
    return BlockingAcquisition.acquire(lock.acquirer, request, holds::beginHold) != null;
  }

  private boolean tryAcquire(Duration timeout) throws InterruptedException {
    return acquire(lock.tryAcquireRequest(timeout, Thread.currentThread()));
  }

  @Override
  public void lock() {
    if (tryReenter()) {
      return;
    }
    // The time that an interrupted try has waited counts, but its place in the queue is lost.
    Request request = lock.acquireRequest(Thread.currentThread());
    boolean interrupted = false;
    try {
      while (true) {
        try {
          acquire(request);
          return;
        } catch (InterruptedException e) {
          interrupted = true;
          request = request.forRetry();
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
    if (!tryReenter()) {
      acquire(lock.acquireRequest(Thread.currentThread()));
    }
  }

  @Override
  public boolean tryLock() {
    return tryReenter()
        || (!lock.isBusy(Thread.currentThread())
            && lock.engine.callUninterrupted(() -> tryAcquire(Duration.ZERO)));
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    requireUninterrupted();
    Duration timeout = Duration.ofNanos(Math.max(0, unit.toNanos(time)));
    return tryReenter() || tryAcquire(timeout);
  }

  private static void requireUninterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  @Override
  public void unlock() {
    holds.endHold(lock.name, lock.share);
  }

  @Override
  public Optional<Lease> lease() {
    return holds.lease(lock.name, lock.share);
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + lock.name + " on " + lock.engine.store.endpoint() + "]";
  }
}
