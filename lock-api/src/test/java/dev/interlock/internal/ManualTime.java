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
 * A clock that stands still until told to advance. Threads that wait by it are seen here, so that a
 * test can wait for them to wait.
 *
 * <p>It is guarded by its monitor and not by a {@link java.util.concurrent.locks.Lock}: waiting for
 * one of those parks, which would use up the permit with which somebody ends the wait that is just
 * beginning.
 */
final class ManualTime implements TimeSource {

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long MOMENT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int LEAST_LOOKS = 50;

  @GuardedBy("this")
  private final Map<Thread, Long> sleepers = new HashMap<>();

  /** Woken before they slept. */
  @GuardedBy("this")
  private final Set<Thread> woken = Collections.newSetFromMap(new WeakHashMap<>());

  // Soon to overflow, as System.nanoTime() may.
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

  /** A thread that was woken and has not run yet is not asleep. */
  @Override
  public synchronized void unpark(@Nullable Thread thread) {
    if (thread != null && sleepers.replace(thread, now) == null) {
      woken.add(thread);
    }
    LockSupport.unpark(thread);
  }

  /** Lets both clocks go on, and waits until the engine's timers have done what was due. */
  synchronized void advance(Duration duration) {
    pass(duration);
    await(this::timersAsleep);
  }

  /**
   * Lets both clocks go on to the next time that anybody waits for, but by no more than the given
   * duration. Whoever is busy is waited for before, so that the clocks do not run away from threads
   * that the machine has no time for.
   */
  synchronized void advanceToNext(Duration most) {
    awaitRest();
    long step = most.toNanos();
    for (long until : sleepers.values()) {
      step = Math.min(step, Math.max(1, until - now));
    }
    advance(Duration.ofNanos(step));
  }

  /** Whoever does not come to rest, as it has no reason to, is left alone after a moment. */
  @GuardedBy("this")
  private void awaitRest() {
    long giveUpAt = System.nanoTime() + MOMENT_NANOS;
    int looks = 0; // this JVM may stand still for longer
    while (isAnybodyBusy() && (looks++ < LEAST_LOOKS || System.nanoTime() - giveUpAt < 0)) {
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
        return true; // has been woken, and has not run yet
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

  /** Lets both clocks go on from within a call of the engine's, without waiting for anything. */
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

  /** The machine sleeps: only the wall clock goes on. */
  synchronized void sleepMachine(Duration duration) {
    wall = wall + duration.toNanos();
  }

  /** Waits until the thread waits by this clock, for a later time than now. */
  synchronized void awaitAsleep(Thread thread) {
    await(() -> isAsleep(thread));
  }

  /** Whether the thread waits by this clock, for a later time than now. */
  synchronized boolean isAsleep(Thread thread) {
    Long until = sleepers.get(thread);
    return until != null && until - now > 0;
  }

  /** Includes those that have only just been started. */
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
    long giveUpAt = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - giveUpAt > 0) {
        throw new AssertionError("did not come to rest: " + sleepers);
      }
      try {
        // A timer that ends does not notify, hence the short looks.
        wait(10);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
