package dev.interlock.internal;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The term of one lease within the validity of its grant: its renewal and its own limits. Changes
 * under the monitor of the grant.
 */
final class LeaseTerm {

  record End(LossReason reason, String detail) {}

  // A smaller difference is an adjustment of a clock, or a pause of a thread between reading the
  // two clocks: the lease ends that much earlier, but the machine has not slept.
  static final Duration MIN_SLEEP = Duration.ofMillis(100);

  private final Platform platform;
  private final Grant grant;

  /** Whether the program wants the lease to be renewed in the background. */
  private boolean renewed = true;

  /** Whether renewal has ended: the program abandoned the lease, or the store has ended it. */
  private boolean renewalStopped;

  /** Whether only the client keeps the lease, for its minimum hold. */
  private volatile boolean kept;

  private volatile @Nullable Validity maxHold;

  /** The end of a lease without renewal that only the client can end. */
  private volatile @Nullable Validity fixedEnd;

  LeaseTerm(Platform platform, Grant grant) {
    this.platform = platform;
    this.grant = grant;
  }

  /** Applies the options, given the validity of the grant. */
  void applyOptions(LockOptions options, Validity validity) {
    if (options.maxHold().isPresent()) {
      // Sleep of the machine before the hold began does not count.
      long offset = Validity.clockOffset(platform);
      maxHold = new Validity(Deadline.in(platform, options.maxHold().get()).nanos(), offset);
    }
    renewed = options.autoRenew();
    if (!renewed && !grant.expiresOnStore()) {
      // Nothing ends it on the store, so it needs its session until its end.
      long confirmedAt = validity.until() - grant.validityPerConfirmation().toNanos();
      fixedEnd = new Validity(confirmedAt + grant.effectiveTtl().toNanos(), validity.clockOffset());
    }
  }

  /** Extends a lease of a fixed TTL by that TTL, if the program has renewed it. */
  void extend(Renewer.Sent sent) {
    if (sent.byProgram() && !renewed && !renewalStopped && !grant.expiresOnStore()) {
      fixedEnd = new Validity(sent.at() + grant.effectiveTtl().toNanos(), sent.clockOffset());
    }
  }

  /**
   * Counts sleep from now on: a wall clock that is set back later must not hide sleep until now.
   */
  void rebase(long wall, long now) {
    maxHold = maxHold == null ? null : maxHold.rebased(wall, now);
    fixedEnd = fixedEnd == null ? null : fixedEnd.rebased(wall, now);
  }

  /** Whether the grant must be renewed for the lease. */
  boolean needsRenewal() {
    return !renewalStopped && (renewed || !grant.expiresOnStore());
  }

  boolean isRenewed() {
    return renewed;
  }

  /** Ends the renewal; the limits stay. */
  void stopRenewal() {
    renewed = false;
    renewalStopped = true;
  }

  boolean isRenewalStopped() {
    return renewalStopped;
  }

  /** Ends the renewal, so that the lease ends with the present validity. */
  void abandon(Validity validity) {
    stopRenewal();
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    fixedEnd = fixedEnd == null ? validity : validity.orEarlier(fixedEnd, wall, now);
  }

  /** Keeps the lease for the client: the limits of the program no longer apply. */
  void keepForClient(boolean renews) {
    kept = true;
    maxHold = null;
    fixedEnd = null;
    if (renews) {
      renewed = true;
      renewalStopped = false;
    }
  }

  /**
   * Returns the nanoseconds until it ends; 0 or less if it is over. Sleep of the machine does not
   * end a lock that is kept for its minimum hold: no program relies on its validity, and the store
   * knows whether the lock exists.
   */
  long remaining(Validity validity, long wall, long now) {
    return kept
        ? validity.until() - now
        : Math.min(
            validity.remaining(wall, now),
            Math.min(remainingOf(maxHold, wall, now), remainingOf(fixedEnd, wall, now)));
  }

  private static long remainingOf(@Nullable Validity limit, long wall, long now) {
    return limit == null ? Long.MAX_VALUE : limit.remaining(wall, now);
  }

  /** Returns the reason why the term has ended; null if it has not. */
  @Nullable End end(Validity validity) {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    if (remaining(validity, wall, now) > 0) {
      return null;
    }
    if (!renewalStopped
        && remainingOf(maxHold, wall, now) <= 0
        && validity.remaining(wall, now) > 0) {
      return new End(LossReason.MAX_HOLD, "the maximum hold time has passed");
    }
    long slept = kept ? 0 : validity.slept(wall, now);
    if (slept > MIN_SLEEP.toNanos()
        && (!renewalStopped || remaining(validity, Validity.WALL_WITHOUT_SLEEP, now) > 0)) {
      return new End(
          LossReason.SUSPENDED,
          "the wall clock has advanced "
              + Duration.ofNanos(slept).toMillis()
              + " ms more than the monotonic clock; the machine slept");
    }
    if (renewalStopped && !kept) {
      return new End(LossReason.ABANDONED, "it was abandoned without being released");
    }
    return new End(
        LossReason.EXPIRED,
        renewed ? "no renewal was confirmed in time" : "its TTL passed without renewal");
  }
}
