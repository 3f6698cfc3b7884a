package dev.interlock.internal;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The term of one lease within the validity of its grant: whether the lease is renewed, and its own
 * limits. Changes under the monitor of the grant.
 */
final class LeaseTerm {

  /** Why a lease is over. */
  record End(LossReason reason, String detail) {}

  // Less is the adjustment of a clock, or the pause of a thread between reading one clock and the
  // other: the lease ends that much earlier, but the machine has not slept.
  static final Duration MIN_SLEEP = Duration.ofMillis(100);

  private final Platform platform;
  private final Grant grant;

  /** Whether its program wants it to be renewed in the background. */
  private boolean renewed = true;

  /** Whether it is renewed no more, because the program dropped it, or the store has ended it. */
  private boolean renewalStopped;

  /** Whether only the client keeps it, for its minimum hold. */
  private volatile boolean kept;

  private volatile @Nullable Validity maxHold;

  /** When a lease without renewal ends, if only the client can end it. */
  private volatile @Nullable Validity fixedEnd;

  LeaseTerm(Platform platform, Grant grant) {
    this.platform = platform;
    this.grant = grant;
  }

  /** Sets what the options say, given the validity of the grant. */
  void follow(LockOptions options, Validity valid) {
    if (options.maxHold().isPresent()) {
      // Sleep of the machine before the hold began does not count.
      long offset = Validity.clockOffset(platform);
      maxHold = new Validity(Deadline.in(platform, options.maxHold().get()).nanos(), offset);
    }
    renewed = options.autoRenew();
    if (!renewed && !grant.expiresOnStore()) {
      // Nothing ends it on the server, so it needs its session until its end.
      long confirmedAt = valid.until() - grant.validityPerConfirmation().toNanos();
      fixedEnd = new Validity(confirmedAt + grant.effectiveTtl().toNanos(), valid.clockOffset());
    }
  }

  /** A lease of a fixed TTL that its program has renewed goes on for a TTL. */
  void extend(Renewer.Sent sent) {
    if (sent.asked() && !renewed && !renewalStopped && !grant.expiresOnStore()) {
      fixedEnd = new Validity(sent.at() + grant.effectiveTtl().toNanos(), sent.clockOffset());
    }
  }

  /** Counts sleep anew: a wall clock that is set back later must not hide what there was. */
  void rebase(long wall, long now) {
    maxHold = maxHold == null ? null : maxHold.rebased(wall, now);
    fixedEnd = fixedEnd == null ? null : fixedEnd.rebased(wall, now);
  }

  /** Whether the grant has to be renewed for it. */
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

  /** Ends the renewal, and the lease with the present validity. */
  void abandon(Validity valid) {
    stopRenewal();
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    fixedEnd = fixedEnd == null ? valid : valid.orEarlier(fixedEnd, wall, now);
  }

  /** The client keeps it: no limit of the program's applies any more. */
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
   * Returns the nanoseconds until it ends; 0 or less if it is over. A sleep of the machine does not
   * end a lock that is kept for its minimum hold: no program relies on its validity, and the store
   * says whether it is still there.
   */
  long remaining(Validity valid, long wall, long now) {
    return kept
        ? valid.until() - now
        : Math.min(
            valid.remaining(wall, now),
            Math.min(left(maxHold, wall, now), left(fixedEnd, wall, now)));
  }

  private static long left(@Nullable Validity limit, long wall, long now) {
    return limit == null ? Long.MAX_VALUE : limit.remaining(wall, now);
  }

  /** Returns why it has ended; null if it has not. */
  @Nullable End end(Validity valid) {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    if (remaining(valid, wall, now) > 0) {
      return null;
    }
    if (!renewalStopped && left(maxHold, wall, now) <= 0 && valid.remaining(wall, now) > 0) {
      return new End(LossReason.MAX_HOLD, "the maximum hold time has passed");
    }
    long slept = kept ? 0 : valid.slept(wall, now);
    if (slept > MIN_SLEEP.toNanos()
        && (!renewalStopped || remaining(valid, Validity.WALL_WITHOUT_SLEEP, now) > 0)) {
      return new End(
          LossReason.SUSPENDED,
          "the wall clock has advanced "
              + Duration.ofNanos(slept).toMillis()
              + " ms more than the monotonic clock; the machine slept");
    }
    if (renewalStopped && !kept) {
      return new End(LossReason.ABANDONED, "it was dropped without being released");
    }
    return new End(
        LossReason.EXPIRED,
        renewed ? "no renewal was confirmed in time" : "its TTL passed without renewal");
  }
}
