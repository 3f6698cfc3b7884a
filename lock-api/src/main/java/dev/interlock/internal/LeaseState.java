package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LeaseInfo;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import java.lang.ref.Reference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
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

  // By how much the server's clock may be faster; twice the rate at which NTP slews one at most.
  private static final int DRIFT_DIVISOR = 1000;

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

  /** Null if it has none. */
  private volatile @Nullable Limits limits;

  private volatile @Nullable Object site;
  private volatile @Nullable Reference<Object> handle;

  /** Whether it is renewed no more, because the program dropped it, or the store has ended it. */
  private boolean abandoned;

  /** Why it is at risk; null if it is not. */
  private @Nullable LockException risk;

  /** How it ended for its program: a {@link ReleaseOutcome} or a {@link LeaseLostException}. */
  private @Nullable Object ending;

  /** Null until somebody wants to know what becomes of it. */
  private @Nullable Observers observers;

  /** When it ends or may end, apart from the validity of its grant. */
  private static final class Limits {
    private volatile @Nullable Validity maxHold;

    /** When a lease without renewal ends, if only the client can end it. */
    private volatile @Nullable Validity fixed;

    /** Before this a release is deferred. */
    private long minHoldEnd;

    /** Whether the server may have deferred a release, or may yet receive the request to. */
    private boolean deferralInDoubt;

    /** When the client releases a lock that it keeps, or asks the server again to keep it. */
    private long nextRelease;

    /** How long it waits before it asks, longer each time. */
    private long pause;

    Limits(long now) {
      this.minHoldEnd = now;
    }
  }

  private static final class Observers {
    /** For other threads that release it while its release is in progress. */
    private @Nullable CompletableFuture<ReleaseOutcome> release;

    private @Nullable LossSignal lost;
    private final List<Notifier.Sink> sinks = new ArrayList<>(0);

    /** What the client does on a loss: called first, on the thread that noticed; never blocks. */
    private @Nullable Consumer<LeaseLostException> onLoss;

    CompletableFuture<ReleaseOutcome> release() {
      if (release == null) {
        release = new CompletableFuture<>();
      }
      return release;
    }
  }

  LeaseState(HeldGrant grant, Request request, int number, long wall, long now) {
    this.grant = grant;
    this.engine = grant.engine();
    this.request = request;
    this.number = number;
    this.begunAt = now;
    this.begunAtMillis = wall;
    if (!request.ofSet()) {
      follow(request.options());
    }
  }

  private void follow(LockOptions options) {
    options.minHold().ifPresent(time -> limits().minHoldEnd = engine.in(time).nanos());
    // Sleep of the machine before the hold began does not count.
    options
        .maxHold()
        .ifPresent(
            time ->
                limits().maxHold =
                    new Validity(engine.in(time).nanos(), Validity.clockOffset(engine.platform)));
    renewed = options.autoRenew();
    if (!renewed && !grant.grant().expiresOnStore()) {
      // Nothing ends it on the server, so it needs its session until its end.
      limits().fixed =
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

  private Limits limits() {
    Limits made = limits;
    if (made == null) {
      made = new Limits(engine.platform.nanoTime());
      limits = made;
    }
    return made;
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

  /** A snapshot if it is held or kept; null otherwise. */
  @Nullable LeaseInfo info() {
    Duration left = left();
    return isLive() && !left.isZero()
        ? new Held(
            name(),
            share().kind(),
            token() == 0 ? OptionalLong.empty() : OptionalLong.of(token()),
            left,
            Instant.ofEpochMilli(begunAtMillis),
            heldFor(),
            holder())
        : null;
  }

  private record Held(
      String name,
      LockKind kind,
      OptionalLong fencingToken,
      Duration remainingValidity,
      Instant since,
      Duration held,
      String holder)
      implements LeaseInfo {}

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
    Limits own = limits;
    return own == null
        ? remaining
        : Math.min(remaining, Math.min(left(own.maxHold, wall, now), left(own.fixed, wall, now)));
  }

  private static long left(@Nullable Validity limit, long wall, long now) {
    return limit == null ? Long.MAX_VALUE : limit.remaining(wall, now);
  }

  long remainingNanos() {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = engine.platform.wallMillis();
    return remaining(wall, engine.platform.nanoTime());
  }

  private Duration left() {
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
      case KEPT -> HeldGrant.earlier(grant.validity().until(), limits().nextRelease);
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
        limits().fixed =
            new Validity(request.at() + effectiveTtl().toNanos(), request.clockOffset());
      }
      if (isWatched()) {
        note(new Events.Renewed(source(), left()));
      }
    }
  }

  void noteRenewalFailed(LockException failure) {
    if (phase == Phase.HELD && isWatched()) {
      note(new Events.RenewalFailed(source(), left(), failure));
    }
  }

  void putAtRisk(LockException why) {
    if (isUnawareOfRisk()) {
      risk = why;
      note(new Events.AtRisk(source(), left(), why));
    }
  }

  // --- a lease that is dropped ----------------------------------------------------------------

  /** Sets the handle: once that is unreachable, the lease cannot be released any more. */
  void heldThrough(Object object) {
    handle = engine.platform.weak(object);
  }

  /** Sets the call site that acquired it, or null if that was not recorded. */
  void site(@Nullable Object place) {
    site = place;
  }

  /** Abandons it if it cannot be released any more. Called under the monitor. */
  void abandonIfDropped() {
    Thread owner = request.owner();
    Reference<Object> held = handle;
    if (owner != null && !owner.isAlive()) {
      abandonNow("its thread ended while holding it");
    } else if (held != null && held.get() == null) {
      abandonNow("nothing refers to it any more");
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
    Limits own = limits();
    long wall = engine.platform.wallMillis();
    long now = engine.platform.nanoTime();
    Validity valid = grant.validity();
    own.fixed = own.fixed == null ? valid : valid.orEarlier(own.fixed, wall, now);
    engine.callSites.rememberAll(name());
    Object place = site;
    engine.leaseLog.note(
        () ->
            Engine.log.warn(
                "lease of \"{}\" was never released and is no longer renewed: {} (acquired at {})",
                name(),
                why,
                place == null
                    ? "a call site that was not recorded; it will be from now on"
                    : place));
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
    Limits own = limits;
    if (own == null || !own.deferralInDoubt || reason != LossReason.TAKEN) {
      return lossOf(reason, detail);
    }
    renewed = false;
    abandoned = true;
    grant.extendTo(own.minHoldEnd);
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
    Limits own = limits;
    if (phase == Phase.HELD) {
      if (own != null
          && left(own.maxHold, wall, now) <= 0
          && valid.remaining(wall, now) > 0
          && !abandoned) {
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
      if (!kept && observers != null && observers.lost != null) {
        observers.lost.note(why);
      }
      // A lock that is kept without renewal is meant to end with its TTL.
      boolean expected = kept && !renewed && why.reason() == LossReason.EXPIRED;
      if (!expected) {
        note(new Events.Lost(source(), why, heldFor()));
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  /** Runs what the client does on a loss. Not under the monitor: it may end other leases. */
  void runOnLoss(LeaseLostException why) {
    Consumer<LeaseLostException> action;
    synchronized (grant) {
      action = observers == null || ending != why ? null : observers.onLoss;
    }
    if (action != null) {
      action.accept(why);
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
    return finishRelease(beginRelease(), latest);
  }

  /** Releases it as if so much of its minimum hold were left. */
  ReleaseOutcome releaseAfter(Duration delay) {
    synchronized (grant) {
      if (phase == Phase.HELD) {
        limits().minHoldEnd = engine.in(delay).nanos();
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
      Limits own = limits;
      if (own != null) {
        own.minHoldEnd = engine.platform.nanoTime();
      }
    }
  }

  /** Releases, and throws if the lease turns out to be lost. */
  void releaseOrThrowLoss() {
    if (release() == ReleaseOutcome.ALREADY_LOST) {
      throwLoss();
    }
  }

  CompletableFuture<ReleaseOutcome> releaseAsync() {
    AsyncRequest<ReleaseOutcome> finish =
        new AsyncRequest<>(engine, deadline -> finishRelease(null, deadline));
    CompletableFuture<ReleaseOutcome> other = beginRelease();
    if (other == null) {
      return finish.start();
    }
    // It occupies no thread: the release that it waits for may need that thread.
    CompletableFuture<ReleaseOutcome> follower = new CompletableFuture<>();
    var unused = other.thenAccept(known -> engine.notifier.deliver(() -> follower.complete(known)));
    return follower;
  }

  /** Releases a lease that the client keeps. */
  void releaseKept() {
    AsyncRequest<ReleaseOutcome> finish =
        new AsyncRequest<>(engine, deadline -> finishRelease(null, deadline));
    boolean begun;
    synchronized (grant) {
      begun = phase == Phase.KEPT;
      if (begun) {
        phase = Phase.PASSING;
      }
    }
    if (begun) {
      var unused = finish.start();
    }
  }

  /**
   * Begins a release: from here on the lease is not held. The caller has to {@linkplain
   * #finishRelease finish} it.
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
        case PASSING, RELEASING -> observers().release();
        default -> CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
      };
    }
  }

  /**
   * Finishes a release.
   *
   * @param other what {@link #beginRelease} returned
   */
  ReleaseOutcome finishRelease(
      @Nullable CompletableFuture<ReleaseOutcome> other, @Nullable Deadline latest) {
    if (other != null) {
      // Another thread's release, which is bounded by the request time-out.
      Awaiting.doneUninterruptibly(engine.platform, other, Deadline.never(engine.platform));
      return other.join();
    }
    ReleaseOutcome known = ReleaseOutcome.UNKNOWN;
    try {
      known = Release.run(this, latest);
    } finally {
      synchronized (grant) {
        // None is added any more.
        other = observers == null ? null : observers.release;
      }
      if (other != null) {
        other.complete(known);
      }
    }
    return known;
  }

  // --- steps of its release: called under the monitor ------------------------------------------

  boolean mayBeHandedOff() {
    Limits own = limits;
    return phase == Phase.PASSING && renewed && (own == null || !own.deferralInDoubt);
  }

  void beginRequest() {
    phase = Phase.RELEASING;
  }

  /** A request to defer the release was not confirmed. */
  void notDeferred(boolean inDoubt) {
    phase = Phase.PASSING;
    limits().deferralInDoubt |= inDoubt;
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
      if (isWatched()) {
        note(new Events.Released(source(), how, heldFor()));
      }
    } catch (Throwable e) {
      notReported(e);
    }
    ending = how;
  }

  // --- its minimum hold: called under the monitor ----------------------------------------------

  boolean canDefer() {
    return engine.backend.has(Capability.DEFERRED_RELEASE);
  }

  /** Whether its minimum hold has not passed, and nothing was tried in vain. */
  boolean isToDefer() {
    return phase == Phase.PASSING && (!isEnded() || canDefer()) && minHoldRest() > 0;
  }

  /** The rest of its minimum hold in nanoseconds; 0 or less if that has passed. */
  private long minHoldRest() {
    Limits own = limits;
    return own == null ? 0 : own.minHoldEnd - engine.platform.nanoTime();
  }

  /** The rest of its minimum hold by the server's clock; zero if that has passed. */
  Duration deferral() {
    long nanos = Math.max(0, minHoldRest());
    return Duration.ofNanos(nanos + nanos / DRIFT_DIVISOR);
  }

  /** Keeps it for the client, if its minimum hold has not passed; returns whether it does. */
  boolean keep() {
    long now = engine.platform.nanoTime();
    Limits own = limits;
    if (own == null || phase != Phase.PASSING || own.minHoldEnd - now <= 0) {
      return false;
    }
    own.pause = isEnded() ? Math.min(2 * own.pause, grant.interval()) : grant.patience().toNanos();
    own.nextRelease =
        canDefer() ? HeldGrant.earlier(own.minHoldEnd, now + own.pause) : own.minHoldEnd;
    own.maxHold = null;
    own.fixed = null;
    risk = null;
    phase = Phase.KEPT;
    if (own.minHoldEnd - grant.validity().until() > 0) {
      // Whatever the options say.
      renewed = true;
      abandoned = false;
    }
    endFor(ReleaseOutcome.DEFERRED);
    return true;
  }

  boolean isReleaseDue(long now) {
    return phase == Phase.KEPT && limits().nextRelease - now <= 0;
  }

  /** A server that has deferred the release keeps the lock until its minimum hold is over. */
  ReleaseOutcome unlessDeferred(ReleaseOutcome answer) {
    Limits own = limits;
    return answer == ReleaseOutcome.ALREADY_LOST
            && own != null
            && own.deferralInDoubt
            && minHoldRest() <= 0
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

  /** Reports its beginning to listeners, unless its acquisition has ended for them. */
  void noteAcquired() {
    try {
      if (engine.notifier.hasListeners()) {
        Duration waited = Duration.ofNanos(Math.max(0, begunAt - request.since()));
        Acquisition acquisition = request.acquisition();
        synchronized (grant) {
          synchronized (acquisition) {
            if (acquisition.ends()) {
              note(new Events.Acquired(source(), waited, number > 0));
            }
          }
        }
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  CompletableFuture<LeaseLostException> lost() {
    synchronized (grant) {
      Observers waiting = observers();
      if (waiting.lost == null) {
        waiting.lost = new LossSignal(engine.notifier);
        LeaseLostException loss = loss();
        if (loss != null) {
          waiting.lost.tell(loss);
        }
      }
      return waiting.lost;
    }
  }

  private Observers observers() {
    if (observers == null) {
      observers = new Observers();
    }
    return observers;
  }

  Subscription onEvent(Consumer<? super LockEvent> listener) {
    Notifier.ListenerCalls calls = engine.notifier.calls(listener, this::removeSink);
    addSink(calls);
    engine.notifier.flush();
    return calls;
  }

  /** The sink gets the lease's events from now on, and at once a loss or risk that exists. */
  void addSink(Notifier.Sink sink) {
    synchronized (grant) {
      LeaseLostException loss = loss();
      if (loss != null) {
        sink.note(new Events.Lost(source(), loss, heldFor()));
        return;
      }
      observers().sinks.add(sink);
      if (risk != null && phase == Phase.HELD) {
        sink.note(new Events.AtRisk(source(), left(), risk));
      }
    }
  }

  private void removeSink(Notifier.Sink sink) {
    synchronized (grant) {
      if (observers != null) {
        observers.sinks.remove(sink);
      }
    }
  }

  /** At most one; called at once if the lease has been lost already. */
  void onLoss(Consumer<LeaseLostException> action) {
    LeaseLostException already;
    synchronized (grant) {
      observers().onLoss = action;
      already = loss();
    }
    if (already != null) {
      action.accept(already);
    }
  }

  /** Whether its program has released it. */
  private boolean isEnded() {
    return ending instanceof ReleaseOutcome;
  }

  private boolean isWatched() {
    boolean own = observers != null && !observers.sinks.isEmpty();
    return own || engine.notifier.hasListeners();
  }

  Events.Source source() {
    return engine.reports.source(request, token());
  }

  /**
   * Records an event under the monitor, together with the change that it reports, so that listeners
   * get events in the order in which they happened. The next {@link Notifier#flush} delivers it. A
   * lease that its program has released is only logged.
   */
  private void note(LockEvent event) {
    assert Thread.holdsLock(grant);
    if (!isEnded()) {
      if (observers != null) {
        observers.sinks.forEach(sink -> sink.note(event));
      }
      engine.notifier.noteAll(event);
    }
    if (event instanceof LockEvent.AtRisk || event instanceof LockEvent.Lost) {
      engine.leaseLog.note(event);
    }
  }

  /** An event that cannot be reported must not stop the transition, for which others wait. */
  private static void notReported(Throwable why) {
    Timer.failed("an event", why);
  }
}
