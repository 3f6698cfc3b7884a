package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A clock that advances only when a test tells it to. It tracks the threads that sleep by it, so
 * that a test can wait until they are asleep.
 *
 * <p>Its monitor guards it, and not a {@link java.util.concurrent.locks.Lock}: a thread that waits
 * for such a lock parks, and may consume the permit of the {@code unpark} that should wake it from
 * its sleep.
 */
final class ManualTime implements TimeSource {

  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long BUSY_TIMEOUT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int MIN_CHECKS = 50;

  @GuardedBy("this")
  private final Map<Thread, Long> sleepers = new HashMap<>();

  /** The threads that were woken before they slept. */
  @GuardedBy("this")
  private final Set<Thread> woken = Collections.newSetFromMap(new WeakHashMap<>());

  // About to overflow, as System.nanoTime() may.
  private volatile long now = Long.MAX_VALUE - Duration.ofSeconds(20).toNanos();
  private volatile long wall = TimeUnit.MILLISECONDS.toNanos(1_800_000_000_000L);

  @Override
  public long nanoTime() {
    return now;
  }

  @Override
  public long wallMillis() {
    return TimeUnit.NANOSECONDS.toMillis(wall);
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    Thread thread = Thread.currentThread();
    synchronized (this) {
      if (woken.remove(thread) || untilNanos - now <= 0) {
        return;
      }
      sleepers.put(thread, untilNanos);
      notifyAll();
    }
    LockSupport.park(blocker);
    synchronized (this) {
      sleepers.remove(thread);
      notifyAll();
    }
  }

  /** Wakes a thread, which no longer counts as asleep, even before it runs. */
  @Override
  public synchronized void unpark(@Nullable Thread thread) {
    if (thread != null && sleepers.replace(thread, now) == null) {
      woken.add(thread);
    }
    LockSupport.unpark(thread);
  }

  /** Advances both clocks, and waits until the engine's timers have fired the due events. */
  synchronized void advance(Duration duration) {
    pass(duration);
    await(this::timersAsleep);
  }

  /**
   * Advances both clocks to the next time at which a thread wakes up, but by no more than the given
   * duration. First waits for busy threads, so that the clocks do not run ahead of threads that get
   * no processor time.
   */
  synchronized void advanceToNext(Duration maxStep) {
    awaitIdle();
    long step = maxStep.toNanos();
    for (long until : sleepers.values()) {
      step = Math.min(step, Math.max(1, until - now));
    }
    advance(Duration.ofNanos(step));
  }

  /** Waits until no thread is busy, or for a short time if some stay busy. */
  @GuardedBy("this")
  private void awaitIdle() {
    long deadline = System.nanoTime() + BUSY_TIMEOUT_NANOS;
    int checks = 0; // the deadline may pass while this JVM is stopped
    while (isAnybodyBusy() && (checks++ < MIN_CHECKS || System.nanoTime() - deadline < 0)) {
      try {
        wait(1);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  @GuardedBy("this")
  private boolean isAnybodyBusy() {
    for (long until : sleepers.values()) {
      if (until - now <= 0) {
        return true; // was woken and has not run yet
      }
    }
    Thread[] threads = new Thread[Thread.activeCount() + 16];
    int count = Thread.enumerate(threads);
    for (int i = 0; i < count; i++) {
      Thread.State state = threads[i].getState();
      if ((state == Thread.State.RUNNABLE || state == Thread.State.BLOCKED)
          && threads[i].getName().matches("background|interlock-(fake|memory)-.*")) {
        return true;
      }
    }
    return false;
  }

  /** Advances both clocks from within a call of the engine, without waiting for anything. */
  synchronized void pass(Duration duration) {
    now = now + duration.toNanos();
    wall = wall + duration.toNanos();
    sleepers.forEach(
        (thread, until) -> {
          if (until - now <= 0) {
            LockSupport.unpark(thread);
          }
        });
  }

  /** Lets the machine sleep: only the wall clock advances. */
  synchronized void sleepMachine(Duration duration) {
    wall = wall + duration.toNanos();
  }

  /** Waits until the thread sleeps by this clock until a time later than now. */
  synchronized void awaitAsleep(Thread thread) {
    await(() -> isAsleep(thread));
  }

  /** Whether the thread sleeps by this clock until a time later than now. */
  synchronized boolean isAsleep(Thread thread) {
    Long until = sleepers.get(thread);
    return until != null && until - now > 0;
  }

  /** Whether the threads of all timers sleep, even those that have only just been started. */
  private boolean timersAsleep() {
    Thread[] threads = new Thread[Thread.activeCount() + 16];
    int count = Thread.enumerate(threads);
    for (int i = 0; i < count; i++) {
      if (threads[i].getName().equals("interlock-fake-timer")
          && threads[i].isAlive()
          && !isAsleep(threads[i])) {
        return false;
      }
    }
    return true;
  }

  @GuardedBy("this")
  private void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TIMEOUT_NANOS;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("did not come to rest: " + sleepers);
      }
      try {
        // A timer that ends does not notify, hence the short waits.
        wait(10);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
