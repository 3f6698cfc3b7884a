package dev.interlock.internal;

import dev.interlock.LockOptions;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/** A lock as {@link Lock}: reentrant per client, name and thread. */
final class LockView implements Lock {

  private final Acquirer acquirer;
  private final String name;
  private final Share share;
  private final LockOptions options;

  LockView(Acquirer acquirer, String name, Share share, LockOptions options) {
    this.acquirer = acquirer;
    this.name = name;
    this.share = share;
    this.options = options;
  }

  private Request untilHad() {
    return Request.untilHad(acquirer.engine, name, share, options, Thread.currentThread());
  }

  private Request upTo(Duration timeout) {
    return Request.upTo(acquirer.engine, name, share, options, Thread.currentThread(), timeout);
  }

  /** Returns whether the thread already held the lock, and adds a hold if so. */
  private boolean reentered() {
    acquirer.engine.ensureOpen();
    ThreadHolds.Hold hold = acquirer.threadHolds.current(name, share);
    if (hold == null) {
      return false;
    }
    hold.enter();
    return true;
  }

  private boolean begin(LeaseState lease) {
    acquirer.threadHolds.begin(lease);
    return true;
  }

  @Override
  public void lock() {
    if (reentered()) {
      return;
    }
    // The time that an interrupted try has waited counts, but its place in the queue is lost.
    Request request = untilHad();
    boolean interrupted = false;
    try {
      while (true) {
        try {
          BlockingAcquisition.acquire(acquirer, request, this::begin);
          return;
        } catch (InterruptedException e) {
          interrupted = true;
          request = request.again();
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
    if (!reentered()) {
      BlockingAcquisition.acquire(acquirer, untilHad(), this::begin);
    }
  }

  @Override
  public boolean tryLock() {
    return reentered()
        || (!acquirer.isBusy(name, share, options, Thread.currentThread())
            && acquirer.engine.uninterrupted(() -> tries(Duration.ZERO)));
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    requireUninterrupted();
    Duration timeout = Duration.ofNanos(Math.max(0, unit.toNanos(time)));
    return reentered() || tries(timeout);
  }

  private boolean tries(Duration timeout) throws InterruptedException {
    return BlockingAcquisition.tryAcquire(acquirer, upTo(timeout), this::begin).isPresent();
  }

  private static void requireUninterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  @Override
  public void unlock() {
    acquirer.threadHolds.leave(name, share);
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + name + " on " + acquirer.engine.store.endpoint() + "]";
  }
}
