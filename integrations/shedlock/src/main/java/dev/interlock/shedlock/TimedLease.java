package dev.interlock.shedlock;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.DeferrableLease;
import dev.interlock.spi.Later;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lease that ends by itself at a time that can be moved. It is renewed before that only if the
 * time was moved, or is beyond its validity.
 */
final class TimedLease {

  private static final Duration LONGEST = Duration.ofDays(365);

  /** What the TTL exceeds the time by, so that the client ends the lease and not the store. */
  private static final Duration MARGIN = Duration.ofSeconds(1);

  /** The same for long times: a client subtracts a thousandth, because clocks drift. */
  private static final int MARGIN_DIVISOR = 500;

  /** By how much the validity has to exceed a time that was moved, or else it is renewed. */
  private static final Duration LEAST_MARGIN = MARGIN.dividedBy(2);

  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(50);

  private static final Logger log = LoggerFactory.getLogger(InterlockLockProvider.class);

  private final Lease lease;
  private final Later later;

  /** When it ends, by {@link System#nanoTime()}. */
  @GuardedBy("this")
  private long end;

  @GuardedBy("this")
  private boolean extended;

  @GuardedBy("this")
  private boolean ended;

  /** Runs when there is something to do; also keeps the lease reachable until then. */
  @GuardedBy("this")
  private @Nullable Future<?> timer;

  TimedLease(Lease lease, Duration atMost, Later later) {
    this.lease = lease;
    this.later = later;
    synchronized (this) {
      endIn(atMost);
    }
  }

  /** Acquires a lock that ends after the given time; empty if it is held. */
  static Optional<TimedLease> acquire(
      LockClient client, String name, Duration atMost, Later later) {
    checkTime(atMost);
    Duration longer = atMost.plus(MARGIN).plus(atMost.dividedBy(MARGIN_DIVISOR));
    Duration ttl = longer.compareTo(LONGEST) > 0 ? LONGEST : longer;
    return client
        .lock(name, options -> options.ttl(ttl).autoRenew(false).minHold(null).maxHold(null))
        .tryAcquire()
        .map(lease -> new TimedLease(lease, atMost, later));
  }

  private static void checkTime(Duration atMost) {
    if (atMost.compareTo(Duration.ofMillis(1)) < 0 || atMost.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "lockAtMostFor must be between 1 ms and 365 days, not " + atMost);
    }
  }

  /**
   * Moves the end.
   *
   * @return whether the store has confirmed that it still had the lock
   */
  boolean extend(Duration atMost) {
    checkTime(atMost);
    if (endIfDue()) {
      return false;
    }
    try {
      lease.renewAsync().join();
    } catch (CompletionException e) {
      // The latter if it ended meanwhile.
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

  /** Releases it, but not before it has been locked for the given time. */
  void unlock(long lockedAt, Duration atLeast) {
    boolean late;
    Duration rest = atLeast.minusNanos(System.nanoTime() - lockedAt);
    boolean deferrable = lease instanceof DeferrableLease;
    synchronized (this) {
      if (!deferrable && !ended && lease.isHeld() && rest.compareTo(Duration.ZERO) > 0) {
        // The program has wrapped it.
        endIn(rest);
        return;
      }
      late = ended;
      end();
    }
    ReleaseOutcome outcome =
        deferrable ? ((DeferrableLease) lease).releaseAfter(rest) : lease.release();
    if (outcome == ReleaseOutcome.ALREADY_LOST || late) {
      log.warn(
          "lock \"{}\" ended before it was unlocked: the task took longer than lockAtMostFor, or"
              + " the lock was lost. The task may have run elsewhere at the same time",
          lease.name());
    }
  }

  /** Ends it if its time has come, and waits for the store. */
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
    long pause = end - System.nanoTime();
    if (!isValidBeyond(pause)) {
      long half = lease.remainingValidity().toNanos() / 2;
      pause = Math.min(pause, Math.max(half, SHORTEST_PAUSE.toNanos()));
    }
    timer = later.run(this::onTime, Duration.ofNanos(pause));
  }

  /** A lock that was not extended is not renewed for a margin: its holder may die afterwards. */
  @GuardedBy("this")
  private boolean isValidBeyond(long left) {
    long margin = extended ? LEAST_MARGIN.toNanos() : 0;
    return lease.remainingValidity().toNanos() - left >= margin;
  }

  /** Must not block. */
  private void onTime() {
    synchronized (this) {
      long left = end - System.nanoTime();
      if (ended) {
        return;
      }
      if (left > 0 && lease.isHeld()) {
        if (!isValidBeyond(left)) {
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
