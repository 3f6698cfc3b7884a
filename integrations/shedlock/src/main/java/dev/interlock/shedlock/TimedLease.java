package dev.interlock.shedlock;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.DeferrableLease;
import dev.interlock.spi.DelayedTasks;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lease that ends by itself at a time that can be extended. It is renewed before that time only
 * if the time was extended or is beyond the validity of the lease.
 */
final class TimedLease {

  private static final Duration MAX_TIME = Duration.ofDays(365);

  /** The TTL is this much longer than the time, so that the client ends the lease first. */
  private static final Duration TTL_MARGIN = Duration.ofSeconds(1);

  /** A fraction of the time is added, too: the client subtracts a thousandth for clock drift. */
  private static final int TTL_MARGIN_DIVISOR = 500;

  /** If the validity exceeds an extended time by less than this, the lease is renewed. */
  private static final Duration MIN_EXTENSION_MARGIN = TTL_MARGIN.dividedBy(2);

  private static final Duration MIN_CHECK_INTERVAL = Duration.ofMillis(50);

  private static final Logger log = LoggerFactory.getLogger(InterlockLockProvider.class);

  private final Lease lease;
  private final DelayedTasks delayed;

  /** The end of the lease, by {@link System#nanoTime()}. */
  @GuardedBy("this")
  private long end;

  @GuardedBy("this")
  private boolean extended;

  @GuardedBy("this")
  private boolean ended;

  /** The next check of the lease. It also keeps the lease reachable until then. */
  @GuardedBy("this")
  private @Nullable Future<?> timer;

  TimedLease(Lease lease, Duration atMost, DelayedTasks delayed) {
    this.lease = lease;
    this.delayed = delayed;
    synchronized (this) {
      endIn(atMost);
    }
  }

  /** Acquires a lock that ends after the given time; empty if it is held. */
  static Optional<TimedLease> acquire(
      LockClient client, String name, Duration atMost, DelayedTasks delayed) {
    checkTime(atMost);
    Duration longer = atMost.plus(TTL_MARGIN).plus(atMost.dividedBy(TTL_MARGIN_DIVISOR));
    Duration ttl = longer.compareTo(MAX_TIME) > 0 ? MAX_TIME : longer;
    return client
        .lock(name, options -> options.ttl(ttl).autoRenew(false).minHold(null).maxHold(null))
        .tryAcquire()
        .map(lease -> new TimedLease(lease, atMost, delayed));
  }

  private static void checkTime(Duration atMost) {
    if (atMost.compareTo(Duration.ofMillis(1)) < 0 || atMost.compareTo(MAX_TIME) > 0) {
      throw new IllegalArgumentException(
          "lockAtMostFor must be between 1 ms and 365 days, not " + atMost);
    }
  }

  /**
   * Sets another end.
   *
   * @return whether the store has confirmed that it still has the lock
   */
  boolean extend(Duration atMost) {
    checkTime(atMost);
    if (endIfDue()) {
      return false;
    }
    try {
      lease.renewAsync().join();
    } catch (CompletionException e) {
      // An IllegalStateException means that the lease was released meanwhile.
      if (e.getCause() instanceof LeaseLostException
          || e.getCause() instanceof IllegalStateException) {
        return false;
      }
      if (e.getCause() instanceof RuntimeException failure) {
        throw failure;
      }
      throw e;
    }
    synchronized (this) {
      if (ended) {
        return false;
      }
      extended = true;
      endIn(atMost);
      return lease.isHeld();
    }
  }

  /** Releases the lock, but not before it has been locked for the given time. */
  void unlock(long lockedAt, Duration atLeast) {
    boolean endedBefore;
    Duration remaining = atLeast.minusNanos(System.nanoTime() - lockedAt);
    boolean deferrable = lease instanceof DeferrableLease;
    synchronized (this) {
      if (!deferrable && !ended && lease.isHeld() && remaining.compareTo(Duration.ZERO) > 0) {
        // The program has wrapped the lease.
        endIn(remaining);
        return;
      }
      endedBefore = ended;
      end();
    }
    ReleaseOutcome outcome =
        deferrable ? ((DeferrableLease) lease).releaseAfter(remaining) : lease.release();
    if (outcome == ReleaseOutcome.ALREADY_LOST || endedBefore) {
      log.warn(
          "lock \"{}\" ended before it was unlocked: the task took longer than lockAtMostFor, or"
              + " the lock was lost. The task may have run elsewhere at the same time",
          lease.name());
    }
  }

  /** Ends the lease if its time has passed, and waits for the store. */
  private boolean endIfDue() {
    synchronized (this) {
      if (!ended && end - System.nanoTime() > 0) {
        return false;
      }
      end();
    }
    lease.close();
    return true;
  }

  @GuardedBy("this")
  private void endIn(Duration time) {
    end = System.nanoTime() + time.toNanos();
    schedule();
  }

  @GuardedBy("this")
  private void end() {
    ended = true;
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }

  @GuardedBy("this")
  private void schedule() {
    if (timer != null) {
      timer.cancel(false);
    }
    long delay = end - System.nanoTime();
    if (!isValidBeyond(delay)) {
      long half = lease.remainingValidity().toNanos() / 2;
      delay = Math.min(delay, Math.max(half, MIN_CHECK_INTERVAL.toNanos()));
    }
    timer = delayed.run(this::onTimer, Duration.ofNanos(delay));
  }

  /**
   * Only an extended lease is renewed for a margin: a renewal keeps a dead process's lock longer.
   */
  @GuardedBy("this")
  private boolean isValidBeyond(long remaining) {
    long margin = extended ? MIN_EXTENSION_MARGIN.toNanos() : 0;
    return lease.remainingValidity().toNanos() - remaining >= margin;
  }

  /** Must not block. */
  private void onTimer() {
    synchronized (this) {
      long remaining = end - System.nanoTime();
      if (ended) {
        return;
      }
      if (remaining > 0 && lease.isHeld()) {
        if (!isValidBeyond(remaining)) {
          var unused = lease.renewAsync();
        }
        schedule();
        return;
      }
      end();
    }
    var unused = lease.releaseAsync();
  }
}
