package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LeaseLostException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One lease of a {@link HeldGrant}: its phase, its own limits, and who wants to know what becomes
 * of it. The program has a separate handle, so that the client notices when nothing refers to the
 * handle any more.
 *
 * <p>It changes under the monitor of its grant. Methods that say so are called under that.
 */
final class LeaseState {

  /** The phases of a lease. */
  enum Phase {
    /** The program holds it. */
    HELD,
    /** Its release has begun, and looks for a local waiter to hand the grant off to. */
    PASSING,
    /** Its program has released it; the client keeps it until its minimum hold has passed. */
    KEPT,
    /** Its release is in flight; only the answer can still show that it was lost. */
    RELEASING,
    /** Its release has ended, on the store or by a handoff. */
    RELEASED,
    /** It was lost. */
    LOST
  }

  private final HeldGrant grant;
  private final Engine engine;
  private final Request request;

  /** How many leases had the grant before, or have it as well. */
  private final int number;

  /** When it began, by the monotonic clock and by the wall clock. */
  private final long begunAt;

  private final long begunAtMillis;

  private volatile Phase phase = Phase.HELD;

  /** Whether it is renewed in the background. */
  private boolean renewed = true;

  private volatile @Nullable Validity maxHold;

  /** When a lease without renewal ends, if only the client can end it. */
  private volatile @Nullable Validity fixedEnd;

  private @Nullable MinHold minHold;

  /** Whether it is renewed no more, because the program dropped it, or the store has ended it. */
  private boolean abandoned;

  /** Why it is at risk; null if it is not. */
  private @Nullable LockException risk;

  /** How it ended for its program: a {@link ReleaseOutcome} or a {@link LeaseLostException}. */
  private @Nullable Object ending;

  private final ProgramHold hold;
  private final LeaseObservers observers;

  LeaseState(HeldGrant grant, Request request, int number, long wall, long now) {
    this.grant = grant;
    this.engine = grant.engine();
    this.request = request;
    this.number = number;
    this.begunAt = now;
    this.begunAtMillis = wall;
    this.hold = new ProgramHold(request.owner());
    this.observers = new LeaseObservers(this);
    if (!request.ofSet()) {
      follow(request.options());
    }
  }

  private void follow(LockOptions options) {
    if (options.minHold().isPresent()) {
      minHold = new MinHold(engine.platform, options.minHold().get());
    }
    if (options.maxHold().isPresent()) {
      // Sleep of the machine before the hold began does not count.
      long offset = Validity.clockOffset(engine.platform);
      maxHold = new Validity(engine.in(options.maxHold().get()).nanos(), offset);
    }
    renewed = options.autoRenew();
    if (!renewed && !grant.grant().expiresOnStore()) {
      // Nothing ends it on the server, so it needs its session until its end.
      fixedEnd =
          new Validity(
              grant.confirmedAt() + effectiveTtl().toNanos(), grant.validity().clockOffset());
    }
  }

  /**
   * Applies the options of a member whose set is complete. Until then it was renewed in any case.
   */
  void complete() {
    synchronized (grant) {
      if (isOpen()) {
        follow(request.options());
        grant.reschedule();
      }
    }
    grant.publish();
  }

  // --- what it is -------------------------------------------------------------------------------

  HeldGrant grant() {
    return grant;
  }

  Engine engine() {
    return engine;
  }

  Request request() {
    return request;
  }

  String name() {
    return request.name();
  }

  Share share() {
    return request.share();
  }

  String holder() {
    return request.holder();
  }

  long token() {
    long granted = grant.grant().token();
    return granted == 0 ? 0 : granted * Grant.LEASES_PER_GRANT + number;
  }

  Duration effectiveTtl() {
    return grant.grant().effectiveTtl();
  }

  Phase phase() {
    return phase;
  }

  /** Whether it still has the grant, for its program, its client, or somebody to hand it off to. */
  boolean isOpen() {
    return phase == Phase.PASSING || isLive();
  }

  /** Whether it is held by its program, or kept by the client. */
  boolean isLive() {
    Phase now = phase;
    return now == Phase.HELD || now == Phase.KEPT;
  }

  /** How long it has been held until now. */
  Duration heldFor() {
    return Duration.ofNanos(engine.platform.nanoTime() - begunAt);
  }

  /** When it began, by the wall clock. */
  Instant since() {
    return Instant.ofEpochMilli(begunAtMillis);
  }

  // --- validity -------------------------------------------------------------------------------

  /**
   * Returns the nanoseconds until it ends; 0 or less if it is over. A sleep of the machine does not
   * end a lock that is kept for its minimum hold: no program relies on its validity, and the store
   * says whether it is still there.
   */
  long remaining(long wall, long now) {
    Validity valid = grant.validity();
    if (phase == Phase.KEPT) {
      return valid.until() - now;
    }
    long remaining = valid.remaining(wall, now);
    return Math.min(remaining, Math.min(left(maxHold, wall, now), left(fixedEnd, wall, now)));
  }

  private static long left(@Nullable Validity limit, long wall, long now) {
    return limit == null ? Long.MAX_VALUE : limit.remaining(wall, now);
  }

  long remainingNanos() {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = engine.platform.wallMillis();
    return remaining(wall, engine.platform.nanoTime());
  }

  Duration left() {
    return Duration.ofNanos(Math.max(0, remainingNanos()));
  }

  /** Whether it is over, though nobody may have noticed. */
  boolean isOver() {
    return isLive() && remainingNanos() <= 0;
  }

  /** Whether it is valid at this moment. If its validity has ended, it is lost now. */
  boolean isHeld() {
    endIfOver();
    return phase == Phase.HELD;
  }

  /** Ends it if its validity has ended, though nobody may have noticed it yet. */
  void endIfOver() {
    if (isOver()) {
      StackRoom.require();
      // If it has not ended after all, it was renewed in between.
      grant.endOverdue();
    }
  }

  Duration remaining() {
    return isHeld() ? left() : Duration.ZERO;
  }

  void ensureHeld() {
    if (isHeld()) {
      return;
    }
    throwLoss();
    throw new IllegalStateException("the lease of \"" + name() + "\" has been released");
  }

  // A new exception each time: the caller's stack helps to find the write that came late.
  private void throwLoss() {
    LeaseLostException loss = loss();
    if (loss != null) {
      throw new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
    }
  }

  /** When it ends or is released by the client, by the monotonic clock. */
  long dueAt(long wall, long now) {
    return switch (phase) {
      case HELD -> now + remaining(wall, now);
      case KEPT -> HeldGrant.earlier(grant.validity().until(), nextRelease());
      default -> now + Long.MAX_VALUE / 2;
    };
  }

  // --- renewal: called under the monitor ------------------------------------------------------

  boolean needsRenewal() {
    return isLive() && !abandoned && (renewed || !grant.grant().expiresOnStore());
  }

  boolean isUnawareOfRisk() {
    return isLive() && risk == null;
  }

  void noteRenewed(Renewer.Sent request, long wall, long now) {
    risk = null;
    if (phase == Phase.HELD && remaining(wall, now) > 0) {
      if (request.asked() && !renewed && !abandoned && !grant.grant().expiresOnStore()) {
        fixedEnd = new Validity(request.at() + effectiveTtl().toNanos(), request.clockOffset());
      }
      observers.noteRenewed();
    }
  }

  void noteRenewalFailed(LockException failure) {
    if (phase == Phase.HELD) {
      observers.noteRenewalFailed(failure);
    }
  }

  void putAtRisk(LockException why) {
    if (isUnawareOfRisk()) {
      risk = why;
      observers.noteAtRisk(why);
    }
  }

  // --- a lease that is dropped ----------------------------------------------------------------

  ProgramHold hold() {
    return hold;
  }

  /** Sets the handle: once that is unreachable, the lease cannot be released any more. */
  void heldThrough(Object handle) {
    hold.through(engine.platform.weak(handle));
  }

  /** Abandons it if it cannot be released any more. Called under the monitor. */
  void abandonIfDropped() {
    String why = phase == Phase.HELD ? hold.whyDropped() : null;
    if (why != null) {
      abandonNow(why);
    }
  }

  /** Stops renewing a lease that will not be released. It ends with its validity. */
  void abandon(String why) {
    synchronized (grant) {
      abandonNow(why);
      grant.reschedule();
    }
    grant.publish();
  }

  private void abandonNow(String why) {
    if (phase != Phase.HELD || abandoned) {
      return;
    }
    abandoned = true;
    renewed = false;
    long wall = engine.platform.wallMillis();
    long now = engine.platform.nanoTime();
    Validity valid = grant.validity();
    fixedEnd = fixedEnd == null ? valid : valid.orEarlier(fixedEnd, wall, now);
    hold.noteDropped(engine, name(), why);
  }

  // --- its loss -------------------------------------------------------------------------------

  /** The loss of the lease; null if it has not been lost. */
  @Nullable LeaseLostException loss() {
    synchronized (grant) {
      return ending instanceof LeaseLostException why ? why : null;
    }
  }

  /** Ends it as lost if the program still holds it. */
  void loseHeld(LossReason reason, String detail) {
    var unused =
        grant.end(lease -> lease == this && phase == Phase.HELD ? lossOf(reason, detail) : null);
  }

  /** Returns its loss because the client is closed; null if its release is in progress. */
  @Nullable LeaseLostException lossByClose() {
    return switch (phase) {
      case HELD -> lossOf(LossReason.CLOSED, "its client was closed while it was held");
      case KEPT ->
          lossOf(LossReason.CLOSED, "its client was closed before its minimum hold had passed");
      default -> null;
    };
  }

  /**
   * Returns its loss by the store; null while the server may have deferred the release instead. It
   * is then asked again until it confirms that, and is renewed no more.
   */
  @Nullable LeaseLostException lossUnlessDeferred(LossReason reason, String detail) {
    if (minHold == null || !minHold.isInDoubt() || reason != LossReason.TAKEN) {
      return lossOf(reason, detail);
    }
    renewed = false;
    abandoned = true;
    grant.extendTo(minHold.end());
    return null;
  }

  /** Returns its loss because its validity has ended; null if it has not, or was released. */
  @Nullable LeaseLostException lossAtEnd() {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = engine.platform.wallMillis();
    long now = engine.platform.nanoTime();
    if (!isLive() || remaining(wall, now) > 0) {
      return null;
    }
    Validity valid = grant.validity();
    if (phase == Phase.HELD) {
      if (left(maxHold, wall, now) <= 0 && valid.remaining(wall, now) > 0 && !abandoned) {
        return lossOf(LossReason.MAX_HOLD, "the maximum hold time has passed");
      }
      long slept = valid.slept(wall, now);
      if (slept > HeldGrant.MIN_SLEEP_NANOS
          && (remaining(Validity.WALL_WITHOUT_SLEEP, now) > 0 || !abandoned)) {
        return lossOf(
            LossReason.SUSPENDED,
            "the wall clock has advanced "
                + Duration.ofNanos(slept).toMillis()
                + " ms more than the monotonic clock; the machine slept");
      }
      if (abandoned) {
        return lossOf(LossReason.ABANDONED, "it was dropped without being released");
      }
    }
    return lossOf(
        LossReason.EXPIRED,
        renewed ? "no renewal was confirmed in time" : "its TTL passed without renewal");
  }

  private LeaseLostException lossOf(LossReason reason, String detail) {
    return new LeaseLostException(name(), reason, detail, grant.problem());
  }

  /** Ends it as lost. Called under the monitor. */
  void lost(LeaseLostException why) {
    boolean kept = isEnded();
    phase = Phase.LOST;
    if (!kept) {
      ending = why;
    }
    try {
      // A lock that is kept without renewal is meant to end with its TTL.
      boolean expected = kept && !renewed && why.reason() == LossReason.EXPIRED;
      if (!expected) {
        observers.noteLost(why);
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  /** Runs what the client does on a loss. Not under the monitor: it may end other leases. */
  void runOnLoss(LeaseLostException why) {
    if (loss() == why) {
      observers.runOnLoss(why);
    }
  }

  // --- its release ----------------------------------------------------------------------------

  ReleaseOutcome release() {
    return release(null);
  }

  /**
   * Hands its grant off to the next local waiter, or releases it on the server.
   *
   * @param latest until when to ask the server; at most for a request time-out
   */
  ReleaseOutcome release(@Nullable Deadline latest) {
    return Release.finish(this, beginRelease(), latest);
  }

  /** Releases it as if so much of its minimum hold were left. */
  ReleaseOutcome releaseAfter(Duration delay) {
    synchronized (grant) {
      if (phase == Phase.HELD) {
        minHold = new MinHold(engine.platform, delay);
      }
    }
    return release();
  }

  /** Releases a lease that its program never got; no minimum hold applies. */
  void giveUp(@Nullable Deadline latest) {
    forgetMinHold();
    var unused = release(latest);
  }

  void forgetMinHold() {
    synchronized (grant) {
      if (phase == Phase.HELD) {
        minHold = null;
      }
    }
  }

  /** Releases, and throws if the lease turns out to be lost. */
  void releaseOrThrowLoss() {
    if (release() == ReleaseOutcome.ALREADY_LOST) {
      throwLoss();
    }
  }

  /** Begins a release of a lease that the client keeps; false if it does not any more. */
  boolean beginReleaseOfKept() {
    synchronized (grant) {
      boolean begins = phase == Phase.KEPT;
      if (begins) {
        phase = Phase.PASSING;
      }
      return begins;
    }
  }

  /**
   * Begins a release: from here on the lease is not held. The caller has to {@linkplain
   * Release#finish finish} it.
   *
   * @return null, or how a release ends that another caller finishes or has finished
   */
  @Nullable CompletableFuture<ReleaseOutcome> beginRelease() {
    endIfOver();
    synchronized (grant) {
      if (ending instanceof ReleaseOutcome how) {
        return CompletableFuture.completedFuture(how);
      }
      return switch (phase) {
        case HELD -> {
          phase = Phase.PASSING;
          yield null;
        }
        case PASSING, RELEASING -> observers.release();
        default -> CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
      };
    }
  }

  // --- steps of its release: called under the monitor ------------------------------------------

  boolean mayBeHandedOff() {
    return phase == Phase.PASSING && renewed && (minHold == null || !minHold.isInDoubt());
  }

  void beginRequest() {
    phase = Phase.RELEASING;
  }

  /** A request to defer the release was not confirmed. */
  void notDeferred(boolean inDoubt) {
    phase = Phase.PASSING;
    if (inDoubt && minHold != null) {
      minHold.doubt();
    }
  }

  /** Ends it as released. */
  void released(ReleaseOutcome how) {
    phase = Phase.RELEASED;
    endFor(how);
  }

  private void endFor(ReleaseOutcome how) {
    if (isEnded()) {
      return;
    }
    try {
      observers.noteReleased(how);
    } catch (Throwable e) {
      notReported(e);
    }
    ending = how;
  }

  // --- its minimum hold: called under the monitor ----------------------------------------------

  boolean canDefer() {
    return engine.backend.has(Capability.DEFERRED_RELEASE);
  }

  /** Returns its minimum hold if that has not passed, and nothing was tried in vain. */
  @Nullable MinHold minHoldToDefer() {
    boolean defers = phase == Phase.PASSING && (!isEnded() || canDefer());
    return defers && minHold != null && !minHold.isOver() ? minHold : null;
  }

  /** Keeps it for the client, if its minimum hold has not passed; returns whether it does. */
  boolean keep() {
    if (minHold == null || minHold.isOver() || phase != Phase.PASSING) {
      return false;
    }
    minHold.keep(canDefer(), grant.patience().toNanos(), grant.interval());
    maxHold = null;
    fixedEnd = null;
    risk = null;
    phase = Phase.KEPT;
    if (minHold.end() - grant.validity().until() > 0) {
      // Whatever the options say.
      renewed = true;
      abandoned = false;
    }
    endFor(ReleaseOutcome.DEFERRED);
    return true;
  }

  private long nextRelease() {
    return minHold == null ? engine.platform.nanoTime() : minHold.nextRelease();
  }

  boolean isReleaseDue(long now) {
    return phase == Phase.KEPT && nextRelease() - now <= 0;
  }

  /** A server that has deferred the release keeps the lock until its minimum hold is over. */
  ReleaseOutcome unlessDeferred(ReleaseOutcome answer) {
    return answer == ReleaseOutcome.ALREADY_LOST
            && minHold != null
            && minHold.isInDoubt()
            && minHold.isOver()
        ? ReleaseOutcome.DEFERRED
        : answer;
  }

  /** The loss of a lease that the store no longer had. Why is not known once the TTL has passed. */
  LeaseLostException lossFoundAtRelease() {
    return grant.validity().remaining(engine.platform) > 0
        ? lossOf(LossReason.TAKEN, "the store no longer had it when it was released")
        : lossOf(LossReason.EXPIRED, "its TTL passed before the store confirmed its release");
  }

  // --- reporting ------------------------------------------------------------------------------

  LeaseObservers observers() {
    return observers;
  }

  /** Reports its beginning to listeners. */
  void noteAcquired() {
    try {
      Duration waited = Duration.ofNanos(Math.max(0, begunAt - request.since()));
      synchronized (grant) {
        observers.noteAcquired(waited, number > 0);
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  Events.Source source() {
    return engine.reports.source(request, token());
  }

  /** Whether its program has released it. */
  boolean isEnded() {
    return ending instanceof ReleaseOutcome;
  }

  /** Why it is at risk; null if it is not. */
  @Nullable LockException risk() {
    return phase == Phase.HELD ? risk : null;
  }

  /** An event that cannot be reported must not stop the transition, for which others wait. */
  private static void notReported(Throwable why) {
    Timer.failed("an event", why);
  }
}
