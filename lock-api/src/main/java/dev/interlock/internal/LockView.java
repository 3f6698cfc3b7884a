package dev.interlock.internal;

import dev.interlock.LockOptions;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/** A lock as {@link Lock}: reentrant per client, name and thread. */
final class LockView implements Lock {

  private final Engine engine;
  private final String name;
  private final LockOptions options;

  LockView(Engine engine, String name, LockOptions options) {
    this.engine = engine;
    this.name = name;
    this.options = options;
  }

  private Request request() {
    return engine.request(name, options, false, Thread.currentThread());
  }

  /** Returns whether the thread held the lock already, and holds it once more now. */
  private boolean reentered() {
    engine.ensureOpen();
    ThreadHolds.Hold hold = engine.threadHolds().current(name);
    if (hold == null) {
      return false;
    }
    hold.enter();
    return true;
  }

  private boolean begun(@Nullable LeaseState lease) {
    if (lease == null) {
      return false;
    }
    lease.site(engine.callSites().current(name));
    engine.threadHolds().begin(lease);
    return true;
  }

  @Override
  public void lock() {
    if (reentered()) {
      return;
    }
    Request request = request();
    // Once: what an interrupted try has waited counts. Its place in line is lost, though.
    Acquisition.Patience patience = Acquisition.Patience.untilHad(engine, request);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          begun(engine.acquire(request, patience));
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
    if (!reentered()) {
      begun(engine.acquire(request()));
    }
  }

  @Override
  public boolean tryLock() {
    return reentered() || begun(engine.tryAcquire(request()));
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    requireUninterrupted();
    if (reentered()) {
      return true;
    }
    if (time <= 0) {
      return begun(engine.tryAcquire(request()));
    }
    return begun(engine.tryAcquire(request(), Duration.ofNanos(unit.toNanos(time))));
  }

  private static void requireUninterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  @Override
  public void unlock() {
    engine.threadHolds().leave(name);
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + name + " on " + engine.endpoint() + "]";
  }
}
