package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import java.time.Duration;
import java.time.Instant;
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
final class LeaseState implements Observers.Subject {

  private final HeldGrant grant;
  private final Engine engine;
  private final Request request;

  /** How many leases had the grant before, or have it as well. */
  private final int number;

  private final long begunAt;
  private final long begunAtMillis;

  private volatile LeasePhase phase = LeasePhase.HELD;

  private final LeaseTerm term;
  private @Nullable MinHold minHold;

  private @Nullable LockException risk;

  /** How it ended for its program: a {@link ReleaseOutcome} or a {@link LeaseLostException}. */
  private @Nullable Object ending;

  private final ProgramHold hold;

  /** Null until somebody wants to know what becomes of it. */
  private @Nullable Observers observers;

  /** For other threads that release it while its release is in progress. */
  private @Nullable CompletableFuture<ReleaseOutcome> otherReleases;

  /** What the client does on a loss, on the thread that noticed; never blocks. */
  private @Nullable Consumer<LeaseLostException> onLoss;

  LeaseState(HeldGrant grant, Request request, int number, long wall, long now) {
    this.grant = grant;
    this.engine = grant.engine();
    this.request = request;
    this.number = number;
    this.begunAt = now;
    this.begunAtMillis = wall;
    this.term = new LeaseTerm(engine.platform, grant.grant());
    this.hold = new ProgramHold(request.owner());
    if (!request.ofSet()) {
      follow(request.options());
    }
  }

  private void follow(LockOptions options) {
    if (options.minHold().isPresent()) {
      minHold = new MinHold(engine.platform, options.minHold().get());
    }
    term.follow(options, grant.validity());
  }

  /** Applies the options of a member whose set is complete; until then it is renewed anyway. */
  void complete() {
    synchronized (grant) {
      if (isOpen()) {
        follow(request.options());
        grant.reschedule();
      }
    }
    grant.publish();
  }

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

  long token() {
    long granted = grant.grant().token();
    return granted == 0 ? 0 : granted * Grant.LEASES_PER_GRANT + number;
  }

  LeasePhase phase() {
    return phase;
  }

  /** Whether it still has the grant, for its program, its client, or somebody to hand it off to. */
  boolean isOpen() {
    return phase == LeasePhase.PASSING || isLive();
  }

  /** Whether it is held by its program, or kept by the client. */
  boolean isLive() {
    LeasePhase now = phase;
    return now == LeasePhase.HELD || now == LeasePhase.KEPT;
  }

  @Override
  public Duration heldFor() {
    return Duration.ofNanos(engine.platform.nanoTime() - begunAt);
  }

  /** When it began, by the wall clock. */
  Instant since() {
    return Instant.ofEpochMilli(begunAtMillis);
  }

  // --- validity -------------------------------------------------------------------------------

  /** Returns the nanoseconds until it ends; 0 or less if it is over. */
  long remaining(long wall, long now) {
    return term.remaining(grant.validity(), wall, now);
  }

  long remainingNanos() {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = engine.platform.wallMillis();
    return remaining(wall, engine.platform.nanoTime());
  }

  @Override
  public Duration left() {
    return Duration.ofNanos(Math.max(0, remainingNanos()));
  }

  /** Whether it is over, though nobody may have noticed. */
  boolean hasLapsed() {
    return isLive() && remainingNanos() <= 0;
  }

  /** Whether it is valid at this moment. If its validity has ended, it is lost now. */
  boolean isHeld() {
    endIfOver();
    return phase == LeasePhase.HELD;
  }

  /** Ends it if its validity has ended, though nobody may have noticed it yet. */
  void endIfOver() {
    if (hasLapsed()) {
      StackRoom.require();
      // If it has not ended after all, it was renewed in between.
      grant.endOverdue();
    }
  }

  void ensureHeld() {
    if (isHeld()) {
      return;
    }
    LeaseLostException loss = loss();
    if (loss == null) {
      throw new IllegalStateException("the lease of \"" + name() + "\" has been released");
    }
    // A new exception each time: the caller's stack helps to find the write that came late.
    throw new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
  }

  /** When it ends, is released by the client, is to be renewed, or is at risk. */
  long dueAt(long wall, long now, long renewal, long riskAt) {
    long end =
        switch (phase) {
          case HELD -> now + remaining(wall, now);
          case KEPT -> Validity.earlier(grant.validity().until(), nextRelease());
          default -> now + Long.MAX_VALUE / 2;
        };
    if (!needsRenewal()) {
      return end;
    }
    long next = Validity.earlier(end, renewal);
    return risk == null ? Validity.earlier(next, riskAt) : next;
  }

  // --- renewal: called under the monitor ------------------------------------------------------

  boolean needsRenewal() {
    return isLive() && term.needsRenewal();
  }

  void noteRenewed(Renewer.Sent sent, long wall, long now) {
    risk = null;
    term.rebase(wall, now);
    if (phase == LeasePhase.HELD && remaining(wall, now) > 0) {
      term.extend(sent);
      if (isWatched()) {
        note(new Events.Renewed(source(), left()));
      }
    }
  }

  void noteRenewalFailed(LockException failure) {
    if (phase == LeasePhase.HELD && isWatched()) {
      note(new Events.RenewalFailed(source(), left(), failure));
    }
  }

  void putAtRisk(LockException why) {
    if (isLive() && risk == null) {
      risk = why;
      note(new Events.AtRisk(source(), left(), why));
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
    String why = phase == LeasePhase.HELD ? hold.whyDropped() : null;
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
    if (phase != LeasePhase.HELD || term.isRenewalStopped()) {
      return;
    }
    term.abandon(grant.validity());
    hold.noteDropped(engine, name(), why);
  }

  // --- its loss -------------------------------------------------------------------------------

  @Override
  public @Nullable LeaseLostException loss() {
    synchronized (grant) {
      return ending instanceof LeaseLostException why ? why : null;
    }
  }

  /** Ends it as lost if the program still holds it. */
  void loseHeld(LossReason reason, String detail) {
    var unused =
        grant.end(
            lease -> lease == this && phase == LeasePhase.HELD ? lossOf(reason, detail) : null);
  }

  /** Returns its loss because the client is closed; null if its release is in progress. */
  @Nullable LeaseLostException lossByClose() {
    return switch (phase) {
      case HELD -> lossOf(LossReason.CLOSED, "its client was closed while the lease was held");
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
    term.stopRenewal();
    grant.extendTo(minHold.end());
    return null;
  }

  /** Returns its loss because its validity has ended; null if it has not, or was released. */
  @Nullable LeaseLostException lossAtEnd() {
    LeaseTerm.End end = isLive() ? term.end(grant.validity()) : null;
    return end == null ? null : lossOf(end.reason(), end.detail());
  }

  private LeaseLostException lossOf(LossReason reason, String detail) {
    return new LeaseLostException(name(), reason, detail, grant.problem());
  }

  /** Ends it as lost. Called under the monitor. */
  void markLost(LeaseLostException why) {
    boolean released = isReleasedByProgram();
    phase = LeasePhase.LOST;
    if (!released) {
      ending = why;
    }
    try {
      // A lock that is kept without renewal is meant to end with its TTL.
      boolean expected = released && !term.isRenewed() && why.reason() == LossReason.EXPIRED;
      if (!expected) {
        if (!released && observers != null) {
          observers.signalLoss(why);
        }
        note(new Events.Lost(source(), why, heldFor()));
      }
    } catch (Throwable e) {
      // That must not stop the transition, for which others wait.
      Timer.failed("reporting an event", e);
    }
  }

  /** Runs what the client does on a loss. Not under the monitor: it may end other leases. */
  void runOnLoss(LeaseLostException why) {
    Consumer<LeaseLostException> action;
    synchronized (grant) {
      action = ending == why ? onLoss : null;
    }
    if (action != null) {
      action.accept(why);
    }
  }

  /** At most one; called at once if the lease has been lost already. */
  void onLoss(Consumer<LeaseLostException> action) {
    LeaseLostException already;
    synchronized (grant) {
      onLoss = action;
      already = loss();
    }
    if (already != null) {
      action.accept(already);
    }
  }

  // --- its release ----------------------------------------------------------------------------

  /**
   * Hands its grant off to the next local waiter, or releases it on the server.
   *
   * @param latest until when to ask the server; at most for a request time-out
   */
  ReleaseOutcome release(@Nullable Deadline latest) {
    Release release = new Release(this);
    return release.finish(beginRelease(), latest);
  }

  /** Releases it as if so much of its minimum hold were left. */
  ReleaseOutcome releaseAfter(Duration delay) {
    synchronized (grant) {
      if (phase == LeasePhase.HELD) {
        minHold = new MinHold(engine.platform, delay);
      }
    }
    return release(null);
  }

  void forgetMinHold() {
    synchronized (grant) {
      if (phase == LeasePhase.HELD) {
        minHold = null;
      }
    }
  }

  /** Begins a release of a lease that the client keeps; false if it does not any more. */
  boolean beginReleaseOfKept() {
    synchronized (grant) {
      boolean begins = phase == LeasePhase.KEPT;
      if (begins) {
        phase = LeasePhase.PASSING;
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
          phase = LeasePhase.PASSING;
          yield null;
        }
        case PASSING, RELEASING -> {
          if (otherReleases == null) {
            otherReleases = new CompletableFuture<>();
          }
          yield otherReleases;
        }
        default -> CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
      };
    }
  }

  /** Tells other threads how the release has ended. Under no monitor; none is added any more. */
  void tellRelease(ReleaseOutcome outcome) {
    CompletableFuture<ReleaseOutcome> others;
    synchronized (grant) {
      others = otherReleases;
    }
    if (others != null) {
      others.complete(outcome);
    }
  }

  // --- steps of its release: called under the monitor -------------------------------------------

  boolean mayBeHandedOff() {
    return phase == LeasePhase.PASSING
        && term.isRenewed()
        && (minHold == null || !minHold.isInDoubt());
  }

  void markReleasing() {
    phase = LeasePhase.RELEASING;
  }

  /** A request to defer the release was not confirmed. */
  void resumePassing(boolean deferralInDoubt) {
    phase = LeasePhase.PASSING;
    if (deferralInDoubt && minHold != null) {
      minHold.doubt();
    }
  }

  /** Ends it as released. */
  void markReleased(ReleaseOutcome how) {
    phase = LeasePhase.RELEASED;
    endFor(how);
  }

  private void endFor(ReleaseOutcome how) {
    if (isReleasedByProgram()) {
      return;
    }
    try {
      if (isWatched()) {
        note(new Events.Released(source(), how, heldFor()));
      }
    } catch (Throwable e) {
      // That must not stop the transition, for which others wait.
      Timer.failed("reporting an event", e);
    }
    ending = how;
  }

  // --- its minimum hold: called under the monitor ----------------------------------------------

  boolean canDefer() {
    return engine.backend.has(Capability.DEFERRED_RELEASE);
  }

  /** Returns its minimum hold if that has not passed, and nothing was tried in vain. */
  @Nullable MinHold minHoldToDefer() {
    boolean defers = phase == LeasePhase.PASSING && (!isReleasedByProgram() || canDefer());
    return defers && minHold != null && !minHold.isOver() ? minHold : null;
  }

  /** Keeps it for the client, if its minimum hold has not passed; returns whether it does. */
  boolean keep() {
    if (minHold == null || minHold.isOver() || phase != LeasePhase.PASSING) {
      return false;
    }
    minHold.planRelease(canDefer(), grant.patience().toNanos(), grant.interval());
    // Whatever the options say.
    term.keepForClient(minHold.end() - grant.validity().until() > 0);
    risk = null;
    phase = LeasePhase.KEPT;
    endFor(ReleaseOutcome.DEFERRED);
    return true;
  }

  private long nextRelease() {
    return minHold == null ? engine.platform.nanoTime() : minHold.nextRelease();
  }

  boolean isReleaseDue(long now) {
    return phase == LeasePhase.KEPT && nextRelease() - now <= 0;
  }

  /** A server that has deferred the release keeps the lock until its minimum hold is over. */
  ReleaseOutcome unlessDeferred(ReleaseOutcome answer) {
    boolean deferred = minHold != null && minHold.isInDoubt() && minHold.isOver();
    return deferred && answer == ReleaseOutcome.ALREADY_LOST ? ReleaseOutcome.DEFERRED : answer;
  }

  /** The loss of a lease that the store no longer had. Why is not known once the TTL has passed. */
  LeaseLostException lossFoundAtRelease() {
    return grant.validity().remaining(engine.platform) > 0
        ? lossOf(LossReason.TAKEN, "the store no longer had it when it was released")
        : lossOf(LossReason.EXPIRED, "its TTL passed before the store confirmed its release");
  }

  // --- reporting ------------------------------------------------------------------------------

  Observers observers() {
    synchronized (grant) {
      if (observers == null) {
        observers = new Observers(engine.notifier, grant, this);
      }
      return observers;
    }
  }

  /** Reports its beginning to listeners, unless its acquisition has ended for them. */
  void noteAcquired() {
    try {
      if (engine.notifier.hasListeners()) {
        Duration waited = Duration.ofNanos(Math.max(0, begunAt - request.since()));
        synchronized (grant) {
          synchronized (request.acquisition()) {
            if (request.acquisition().end()) {
              note(new Events.Acquired(source(), waited, number > 0));
            }
          }
        }
      }
    } catch (Throwable e) {
      // That must not stop the transition, for which others wait.
      Timer.failed("reporting an event", e);
    }
  }

  @Override
  public Events.Source source() {
    return engine.reports.source(request, token());
  }

  @Override
  public @Nullable LockException risk() {
    return phase == LeasePhase.HELD ? risk : null;
  }

  /** Whether its program has released it: what becomes of it then is only logged. */
  private boolean isReleasedByProgram() {
    return ending instanceof ReleaseOutcome;
  }

  private boolean isWatched() {
    return (observers != null && !observers.isEmpty()) || engine.notifier.hasListeners();
  }

  private void note(LockEvent event) {
    if (!isReleasedByProgram()) {
      if (observers != null) {
        observers.note(event);
      }
      engine.notifier.noteAll(event);
    }
    if (event instanceof LockEvent.AtRisk || event instanceof LockEvent.Lost) {
      engine.leaseLog.note(event);
    }
  }
}
