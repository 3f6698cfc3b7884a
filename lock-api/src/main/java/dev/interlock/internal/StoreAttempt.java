package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to acquire a lock: its claim, and what may remain of it on the store. If its reply
 * was lost, its thread was interrupted, or its grant came too late, it is undone in the background.
 * That request carries the claim, so it cannot touch another attempt.
 *
 * <p>Used by one thread at a time, except for {@link #recordLoss} and {@link #stopWaiting}.
 */
final class StoreAttempt {

  private record EarlyLoss(LossReason reason, String detail) {}

  private final Holdings holdings;
  private final Claim claim;

  /** The {@linkplain Validity#clockOffset difference of the clocks} before the first request. */
  private final long clockOffset;

  private volatile QueueingBackend.@Nullable Place place;

  private @Nullable Grant grant;

  /** Whether nothing remains to undo. */
  private boolean settled;

  /** A loss that the store reported before the lease had begun. */
  @GuardedBy("this")
  private @Nullable EarlyLoss earlyLoss;

  private StoreAttempt(Holdings holdings, Claim claim, long clockOffset) {
    this.holdings = holdings;
    this.claim = claim;
    this.clockOffset = clockOffset;
  }

  /**
   * Creates an attempt with a new claim. The caller sends the request.
   *
   * @param waiting whether the store has answered an earlier attempt that it must wait
   */
  static StoreAttempt of(Holdings holdings, Request request, boolean waiting) {
    Platform platform = holdings.engine.platform;
    // The wall clock first: a pause between the two readings must not hide as much sleep.
    long wall = platform.wallMillis();
    long begunAt = platform.nanoTime();
    ClaimIds.Series ids = holdings.engine.claimIds.series(wall, begunAt);
    Claim claim =
        Claim.inSeries(
            request.name(),
            ids.name,
            ids.next(),
            request.options().ttl(),
            request.options().autoRenew(),
            request.label(),
            begunAt,
            request.share(),
            reservation(holdings.engine, request, waiting));
    return new StoreAttempt(holdings, claim, Validity.clockOffset(wall, begunAt));
  }

  /**
   * Returns the time for which to reserve the lock: until after the next attempt, unless the
   * caller's deadline is earlier. The last attempt of a waiter has a reservation, too: the lock may
   * be reserved for this client.
   */
  private static Duration reservation(Engine engine, Request request, boolean waiting) {
    if (engine.store instanceof QueueingBackend) {
      return Duration.ZERO;
    }
    Duration max = request.options().pollInterval().plus(engine.requestTimeout());
    Duration remaining = request.deadline().atMost(max).remaining();
    return waiting && remaining.isZero() ? Duration.ofNanos(1) : remaining;
  }

  Claim claim() {
    return claim;
  }

  long clockOffset() {
    return clockOffset;
  }

  /** Returns the attempt's place in the store's queue; null if it has none. */
  QueueingBackend.@Nullable Place place() {
    return place;
  }

  boolean isGranted() {
    return grant != null;
  }

  /** Whether the attempt's place can serve another request of this client. */
  boolean hasPlaceFor(Request request) {
    return place != null
        && claim.share().equals(request.share())
        && claim.ttl().equals(request.options().ttl())
        && claim.autoRenew() == request.options().autoRenew();
  }

  QueueingBackend.Place join(QueueingBackend store, Deadline deadline) throws InterruptedException {
    QueueingBackend.Place newPlace = store.join(claim, deadline);
    place = newPlace;
    return newPlace;
  }

  // --- its end ----------------------------------------------------------------------------------

  /**
   * Creates the lease, which owns the claim from then on.
   *
   * @param offset the difference of the clocks from which sleep counts
   * @return null if the grant came too late
   */
  @Nullable LeaseState beginLease(Grant granted, long offset, Request request) {
    grant = granted;
    LeaseState lease = HeldGrant.withFirstLease(holdings, request, granted, offset);
    if (lease == null) {
      return null;
    }
    // Before the lease can be lost, because a loss passes the name on to a head that would continue
    // this attempt.
    settle();
    // From here on only the caller can release the lease, so this must return it.
    try {
      lease.grant().begin();
    } catch (Throwable e) {
      Timer.logFailure("starting a lease", e);
    }
    try {
      applyEarlyLoss(lease);
    } catch (Throwable e) {
      Timer.logFailure("reporting an early loss", e);
    }
    return lease;
  }

  private void applyEarlyLoss(LeaseState lease) {
    holdings.engine.signalEnd();
    holdings.removeAttempt(claim);
    EarlyLoss loss;
    synchronized (this) {
      loss = earlyLoss;
    }
    if (loss != null) {
      lease.grant().reportLoss(loss.reason(), loss.detail());
    }
  }

  /** Undoes what may remain on the store, unless nothing can. */
  void end() {
    if (settled) {
      return;
    }
    settle();
    try {
      if (grant == null) {
        holdings.engine.cleanup.undo(claim);
      } else {
        holdings.engine.cleanup.undo(grant);
      }
    } finally {
      // Not earlier, because a client that is being closed waits for this.
      holdings.removeAttempt(claim);
    }
  }

  /** Ends the attempt, of which nothing remains on the store. */
  void forget() {
    settle();
    holdings.removeAttempt(claim);
    holdings.engine.cleanup.forget(claim);
  }

  private void settle() {
    settled = true;
    stopWaiting();
    place = null;
  }

  /** Ends the attempt's wait in the store's queue. May be called by another thread. */
  void stopWaiting() {
    QueueingBackend.Place current = place;
    if (current != null) {
      try {
        current.close();
      } catch (Throwable e) {
        // A failure must not make the client forget a lock that was just granted.
        Timer.logFailure("closing a place of the backend", e);
      }
    }
  }

  /** Records that the store has taken back the grant of this attempt. */
  synchronized void recordLoss(LossReason reason, String detail) {
    earlyLoss = new EarlyLoss(reason, detail);
  }
}
