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
 * One attempt to acquire a lock: its claim, and what may be left of it on the store. If its reply
 * was lost, it was interrupted, or its grant came too late, it is undone in the background. That
 * request carries the claim, so it can never touch another attempt.
 *
 * <p>Used by one thread at a time, except for {@link #noteLoss} and {@link #stopWaiting}.
 */
final class StoreAttempt {

  private record EarlyLoss(LossReason reason, String detail) {}

  private final Holdings holdings;
  private final Claim claim;

  /** The {@linkplain Validity#clockOffset difference of the clocks} before the first request. */
  private final long clockOffset;

  private volatile QueueingBackend.@Nullable Place place;

  /** What the server granted, once that is known. */
  private @Nullable Grant grant;

  /** Whether nothing is left to undo. */
  private boolean settled;

  /** A loss that the server reported before the lease had begun. */
  @GuardedBy("this")
  private @Nullable EarlyLoss earlyLoss;

  private StoreAttempt(Holdings holdings, Claim claim, long clockOffset) {
    this.holdings = holdings;
    this.claim = claim;
    this.clockOffset = clockOffset;
  }

  /**
   * Makes an attempt with an identity of its own. Its caller sends the request.
   *
   * @param waiting whether the server has answered to an attempt before that it has to wait
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
            request.holder(),
            begunAt,
            request.share(),
            reservation(holdings.engine, request, waiting));
    return new StoreAttempt(holdings, claim, Validity.clockOffset(wall, begunAt));
  }

  /**
   * Lasts until after the next attempt, unless the caller gives up before. The last attempt of a
   * waiter still has one: the lock may be reserved for this client.
   */
  private static Duration reservation(Engine engine, Request request, boolean waiting) {
    if (engine.store instanceof QueueingBackend) {
      return Duration.ZERO;
    }
    Duration most = request.options().pollInterval().plus(engine.requestTimeout());
    Duration remaining = request.deadline().orIn(most).remaining();
    return waiting && remaining.isZero() ? Duration.ofNanos(1) : remaining;
  }

  Claim claim() {
    return claim;
  }

  long clockOffset() {
    return clockOffset;
  }

  /** Its place in the store's queue; null if it has none. */
  QueueingBackend.@Nullable Place place() {
    return place;
  }

  boolean isGranted() {
    return grant != null;
  }

  /** Whether its place can serve another request of this client. */
  boolean hasPlaceFor(Request request) {
    return place != null
        && claim.share().equals(request.share())
        && claim.ttl().equals(request.options().ttl())
        && claim.autoRenew() == request.options().autoRenew();
  }

  QueueingBackend.Place join(QueueingBackend store, Deadline deadline) throws InterruptedException {
    QueueingBackend.Place joined = store.join(claim, deadline);
    place = joined;
    return joined;
  }

  // --- its end ----------------------------------------------------------------------------------

  /**
   * Makes the lease, which owns the claim from then on.
   *
   * @param offset the difference of the clocks since when a sleep counts
   * @return null if the grant came too late
   */
  @Nullable LeaseState begin(Grant granted, long offset, Request request) {
    grant = granted;
    LeaseState lease = HeldGrant.first(holdings, request, granted, offset);
    if (lease == null) {
      return null;
    }
    // Before the lease can be lost, which passes the name on to a head that would continue here.
    settle();
    // From here on only the caller can release the lease, so it has to be returned.
    try {
      lease.grant().begin();
    } catch (Throwable e) {
      Timer.failed("starting a lease", e);
    }
    try {
      applyEarlyLoss(lease);
    } catch (Throwable e) {
      Timer.failed("reporting an early loss", e);
    }
    return lease;
  }

  private void applyEarlyLoss(LeaseState lease) {
    holdings.engine.signalEnd();
    holdings.end(claim);
    EarlyLoss early;
    synchronized (this) {
      early = earlyLoss;
    }
    if (early != null) {
      lease.grant().lose(early.reason(), early.detail());
    }
  }

  /** Undoes what may be left on the store, unless nothing is. */
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
      // Not before, because a client that is being closed waits for it.
      holdings.end(claim);
    }
  }

  /** Ends it with nothing left on the store. */
  void forget() {
    settle();
    holdings.end(claim);
    holdings.engine.cleanup.forget(claim);
  }

  private void settle() {
    settled = true;
    stopWaiting();
    place = null;
  }

  /** Ends its wait in the store's queue. May be called by another thread. */
  void stopWaiting() {
    QueueingBackend.Place joined = place;
    if (joined != null) {
      try {
        joined.close();
      } catch (Throwable e) {
        // It must not make the client forget a lock that was just granted.
        Timer.failed("closing a place of the backend", e);
      }
    }
  }

  /** The server has taken back what it granted. */
  synchronized void noteLoss(LossReason reason, String detail) {
    earlyLoss = new EarlyLoss(reason, detail);
  }
}
