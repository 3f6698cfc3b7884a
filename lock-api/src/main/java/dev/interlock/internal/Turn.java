package dev.interlock.internal;

import static dev.interlock.internal.LeaseState.Phase.HELD;
import static dev.interlock.internal.LeaseState.Phase.LOST;
import static dev.interlock.internal.LeaseState.Phase.RELEASING;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Capability;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition on the server, and the leases that are served on it one after the other: the one
 * that acquired it, and those to which it was handed over inside this client without asking the
 * server (FAIR-01).
 *
 * <p>How far it is, its present lease says: {@link LeaseState.Phase}. All transitions happen under
 * the turn's monitor, no call out of the engine does. It is its own event on the {@link Timer}: the
 * next renewal, or the end of what is certain.
 */
final class Turn extends Timer.Event {

  /** Tokens leave room for this many hand-overs, so that they still increase. */
  static final int TOKENS_PER_TURN = 64;

  private static final int MOST_HAND_OVERS = TOKENS_PER_TURN - 1;
  private static final int RENEWALS_PER_TERM = 3;

  // Renewals are rounded to eighths of their interval, so that many come due together.
  private static final int RENEWAL_GRID = 8;

  // A lease that ends by both clocks soon after such a sleep would not have without it.
  private static final long SLEEP_THAT_MATTERS = 100_000_000;

  final Engine engine;
  final Grant grant;
  private final Request request;
  private final long startedAt;
  private final long interval;

  /** Made when a renewal fails, as most never do. */
  @GuardedBy("this")
  private @Nullable Backoff backoff;

  /** Until when the server's promise is certain; only grows. */
  private volatile long validUntil;

  /** Wall clock minus monotonic clock before the last confirmed request was sent (LEASE-10). */
  private volatile long clockOffset;

  @GuardedBy("this")
  private LeaseState lease;

  @GuardedBy("this")
  private int handOvers;

  /** The renewal under way, done when its outcome has been applied to all of its turns. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<Boolean> round;

  /** Whether the schedule is to renew it. */
  @GuardedBy("this")
  private boolean renewalPlanned;

  /** When to renew next, if it is planned. */
  @GuardedBy("this")
  private long renewAt;

  @GuardedBy("this")
  private boolean atRisk;

  /** Why the last renewal was not confirmed; null if it was. */
  @GuardedBy("this")
  private @Nullable LockException problem;

  private Turn(Engine engine, Request request, Grant grant, long clockOffset) {
    this.engine = engine;
    this.request = request;
    this.grant = grant;
    this.clockOffset = clockOffset;
    this.validUntil = grant.validUntil();
    this.startedAt = engine.time().nanoTime();
    this.interval = grant.certainFor().toNanos() / RENEWALS_PER_TERM;
    this.lease = new LeaseState(this, request, publicToken(0));
  }

  /** Starts a turn for its first lease. The caller is the head of the name's local line. */
  static LeaseState begin(Engine engine, Request request, Grant grant, long clockOffset) {
    Turn turn = new Turn(engine, request, grant, clockOffset);
    LeaseState lease;
    synchronized (turn) {
      lease = turn.lease;
      if (request.renews() || !grant.lapses()) {
        turn.planRenewal(turn.gridded(turn.confirmedAt() + turn.interval));
      }
      lease.noteAcquired();
    }
    engine.add(turn);
    synchronized (turn) {
      // From the moment it was added, the server may have told its loss.
      if (turn.lease.isOpen()) {
        turn.reschedule();
      }
    }
    turn.publish();
    return lease;
  }

  /** When the last request was sent that the store confirmed. */
  private long confirmedAt() {
    return validUntil - grant.certainFor().toNanos();
  }

  /** The end of the term that began with the last confirmed request. */
  long termEnd() {
    return confirmedAt() + grant.effectiveTerm().toNanos();
  }

  private long publicToken(int handOver) {
    return grant.token() == 0 ? 0 : grant.token() * TOKENS_PER_TURN + handOver;
  }

  String name() {
    return request.name();
  }

  long validUntil() {
    return validUntil;
  }

  // --- validity -------------------------------------------------------------------------------

  /**
   * Whether the given lease of this turn is certain at this moment. If it has come to its end it is
   * lost now; if it has been released, its end is nobody's any more.
   */
  boolean isCertain(LeaseState asked) {
    if (engine.remaining(asked.end(), clockOffset) <= 0) {
      loseIfEnded(asked);
    }
    // If it has not ended after all, it was renewed between the two looks.
    return asked.phase() == HELD;
  }

  /** How long it is until then, less what the machine has slept since the last confirmation. */
  Duration remaining(long end) {
    return Duration.ofNanos(Math.max(0, engine.remaining(end, clockOffset)));
  }

  @Override
  void fire(long now) {
    // A lease that is being released needs no timer; whoever is next on the turn starts it again.
    if (!isCertain(lease())) {
      return;
    }
    LeaseState orphan = null;
    String how = null;
    synchronized (this) {
      if (lease.phase() != HELD) {
        return;
      }
      if (isRenewalDue(now)) {
        how = lease.orphaned();
        if (how != null) {
          orphan = lease;
        } else if (round == null) {
          engine.renewer().due(this);
        }
      }
      if (orphan == null && isRenewalLate(now)) {
        LockException why =
            problem == null ? engine.unavailable("no renewal has been answered", null) : problem;
        putAtRisk(why, engine.remaining(lease.end(), clockOffset));
      }
      reschedule();
    }
    publish();
    if (orphan != null && how != null) {
      orphan.forsaken(how);
    }
  }

  @GuardedBy("this")
  private void reschedule() {
    long now = engine.time().nanoTime();
    long end = now + engine.remaining(lease.end(), clockOffset);
    if (!renewalPlanned) {
      due(end);
      return;
    }
    // A renewal that is due and has no outcome may have found no thread: it is asked for again.
    long next = renewAt - now > 0 ? renewAt : now + interval / RENEWAL_GRID;
    if (!atRisk && riskAt() - now > 0 && riskAt() - next < 0) {
      next = riskAt();
    }
    due(next - end < 0 ? next : end);
  }

  @GuardedBy("this")
  private boolean isRenewalDue(long now) {
    return renewalPlanned && renewAt - now <= 0;
  }

  /** Lets the timer and the listeners know of a transition, under no monitor. */
  private void publish() {
    engine.timer().update(this);
    engine.notifier().flush();
  }

  @GuardedBy("this")
  private void planRenewal(long at) {
    renewAt = at;
    renewalPlanned = true;
  }

  private long gridded(long at) {
    long grid = Math.max(1, interval / RENEWAL_GRID);
    return at - Math.floorMod(at, grid);
  }

  // --- renewal --------------------------------------------------------------------------------

  /**
   * Claims the turn for a renewal; false if it has ended, or another renewal is under way.
   *
   * @param asked the lease whose program asks for it, or null for the schedule
   */
  synchronized boolean startRenewal(CompletableFuture<Boolean> mine, @Nullable LeaseState asked) {
    if (lease.phase() != HELD || round != null) {
      return false;
    }
    boolean wanted =
        asked == null
            ? isRenewalDue(engine.time().nanoTime()) && !lease.isAbandoned()
            : lease == asked;
    if (!wanted) {
      return false;
    }
    round = mine;
    return true;
  }

  /** For how long one renewal may take, so that there is time for another. */
  Duration patience() {
    Duration share = Duration.ofNanos(interval);
    Duration most = engine.requestTimeout();
    return share.compareTo(most) < 0 ? share : most;
  }

  /** The renewal under way, or null. */
  synchronized @Nullable CompletableFuture<Boolean> round() {
    return round;
  }

  /**
   * Applies the outcome of a renewal.
   *
   * @param sentAt the time before the request was sent
   * @param offset {@link Engine#clockOffset} before the request was sent
   * @param asked the lease whose program asked for it, or null for the schedule's own renewal
   */
  void finishRenewal(
      CompletableFuture<Boolean> mine,
      Renewal outcome,
      long sentAt,
      long offset,
      @Nullable LeaseState asked) {
    try {
      if (outcome instanceof Renewal.Renewed renewed) {
        confirm(renewed.validUntil(), sentAt, offset, asked);
      } else if (outcome instanceof Renewal.Gone gone) {
        lose(gone.reason(), gone.detail());
      } else if (outcome instanceof Renewal.Failed failed) {
        postpone(failed.problem());
      }
    } finally {
      synchronized (this) {
        if (round == mine) {
          round = null;
        }
      }
      publish();
    }
  }

  private void confirm(long promised, long sentAt, long offset, @Nullable LeaseState asked) {
    // A confirmation that comes after the end does not bring the lease back. Nothing moves the end
    // but what follows under the monitor, so that a lease once seen ended stays so.
    LeaseState current;
    synchronized (this) {
      if (!lease.isOpen()) {
        return;
      }
      // Together with the new due time: a renewal that comes due finds none under way.
      round = null;
      current = lease;
      if (engine.remaining(current.end(), clockOffset) > 0) {
        extend(promised, sentAt, offset, asked);
        if (current.phase() == HELD) {
          current.note(new LockEvent.Renewed(current.name(), current.token()));
        }
        return;
      }
    }
    loseIfEnded(current);
  }

  @GuardedBy("this")
  private void extend(long promised, long sentAt, long offset, @Nullable LeaseState asked) {
    // Never more than was said at the grant, whatever the backend says now.
    long most = sentAt + grant.certainFor().toNanos();
    long until = promised - most < 0 ? promised : most;
    if (until - validUntil > 0) {
      validUntil = until;
      clockOffset = offset;
    }
    if (asked != null && !asked.renews() && !grant.lapses()) {
      asked.extendFixedTerm(sentAt + grant.effectiveTerm().toNanos());
    }
    atRisk = false;
    problem = null;
    backoff = null;
    if (lease.renews() || !grant.lapses()) {
      planRenewal(gridded(sentAt + interval));
    }
    reschedule();
  }

  private void postpone(LockException failure) {
    LeaseState current;
    synchronized (this) {
      if (!lease.isOpen()) {
        return;
      }
      round = null;
      current = lease;
      problem = failure;
      long now = engine.time().nanoTime();
      long left = engine.remaining(current.end(), clockOffset);
      if (left > 0) {
        if (current.renews() || !grant.lapses()) {
          if (backoff == null) {
            backoff = new Backoff(engine.platform(), grant.certainFor());
          }
          planRenewal(now + backoff.nextNanos());
        }
        putAtRisk(failure, left);
        reschedule();
        return;
      }
    }
    loseIfEnded(current);
  }

  @GuardedBy("this")
  private void putAtRisk(LockException why, long left) {
    if (!atRisk && lease.phase() == HELD) {
      atRisk = true;
      lease.note(new LockEvent.AtRisk(lease.name(), lease.token(), Duration.ofNanos(left), why));
    }
  }

  /** Whether a renewal has been waited for until the last third of what is certain. */
  @GuardedBy("this")
  private boolean isRenewalLate(long now) {
    return renewalPlanned && riskAt() - now <= 0;
  }

  private long riskAt() {
    return validUntil - interval;
  }

  /** The current lease's own rules have changed: when it ends, and whether it is renewed. */
  void settled() {
    synchronized (this) {
      if (lease.isOpen()) {
        if (!lease.renews() && grant.lapses()) {
          renewalPlanned = false;
        }
        reschedule();
      }
    }
    publish();
  }

  // --- the end --------------------------------------------------------------------------------

  /**
   * Stops renewing a lease that its program has dropped, unless the turn has gone on without it.
   */
  void orphan(LeaseState dropped, String how) {
    synchronized (this) {
      if (lease != dropped || !dropped.abandon(validUntil)) {
        return;
      }
      renewalPlanned = false;
      reschedule();
    }
    publish();
    engine.callSites().rememberAll(name());
    Engine.log.warn(
        "the lease of \"{}\" acquired at {} was not released: {}; it is no longer renewed",
        name(),
        dropped.site(),
        how);
  }

  private synchronized LeaseState lease() {
    return lease;
  }

  /** Loses the lease if it is being served, and its end has come. */
  private void loseIfEnded(LeaseState served) {
    lose(() -> endOf(served));
  }

  /** Loses the lease if it is being served. */
  void loseIfServing(LeaseState served, LossReason reason, String detail) {
    lose(() -> serves(served) ? lossOf(reason, detail) : null);
  }

  /** Loses whatever lease is being served. */
  void lose(LossReason reason, String detail) {
    lose(() -> lossOf(reason, detail));
  }

  private synchronized LeaseLostException lossOf(LossReason reason, String detail) {
    return new LeaseLostException(name(), reason, detail, problem);
  }

  private synchronized boolean serves(LeaseState asked) {
    return lease == asked && asked.phase() == HELD;
  }

  private synchronized @Nullable LeaseLostException endOf(LeaseState asked) {
    long end = asked.end();
    long remaining = engine.remaining(end, clockOffset);
    if (!serves(asked) || remaining > 0) {
      return null;
    }
    long now = engine.time().nanoTime();
    long slept = end - now - remaining;
    if (end - now > 0) {
      return lossToSleep(slept);
    }
    if (asked.isAbandoned()) {
      return lossOf(LossReason.ABANDONED, "it was dropped without being released");
    }
    if (asked.isAtMaxHold(now) && validUntil - now > 0) {
      return lossOf(LossReason.MAX_HOLD, "the maximum hold time has passed");
    }
    if (slept > SLEEP_THAT_MATTERS) {
      return lossToSleep(slept);
    }
    return lossOf(
        LossReason.EXPIRED,
        asked.renews() ? "no renewal was confirmed in time" : "its term passed without renewal");
  }

  private LeaseLostException lossToSleep(long nanos) {
    return lossOf(
        LossReason.SUSPENDED,
        "the wall clock has advanced "
            + Duration.ofNanos(nanos).toMillis()
            + " ms more than the monotonic clock; the machine slept");
  }

  /**
   * Ends the turn, and tells its lease.
   *
   * @param verdict asked under the monitor, so that it is about the lease that will be told; null
   *     if it is not lost
   */
  private boolean lose(Supplier<@Nullable LeaseLostException> verdict) {
    LeaseLostException found;
    LeaseState loser;
    boolean passes;
    StackRoom.require();
    synchronized (this) {
      loser = lease;
      found = loser.isOpen() ? verdict.get() : null;
      if (found == null) {
        return false;
      }
      // Who is releasing it passes on the head of the line.
      passes = loser.phase() == HELD;
      loser.lose(found);
    }
    engine.remove(this);
    try {
      engine.notifier().flush();
      tidyServer(found.reason());
      loser.runOnLoss(found);
    } finally {
      if (passes) {
        engine.line().pass(name());
      }
    }
    return true;
  }

  /** Loses what is held because the client is closed; false if nothing is, or no more. */
  boolean loseToClose() {
    return lose(
        () ->
            lease().phase() == HELD
                ? lossOf(LossReason.CLOSED, "its client was closed while it was held")
                : null);
  }

  private void tidyServer(LossReason reason) {
    if (reason == LossReason.CLOSED) {
      // Whoever closes the client releases it.
      return;
    }
    boolean gone =
        switch (reason) {
          case TAKEN, SESSION_ENDED -> true;
          case EXPIRED, ABANDONED -> grant.lapses();
          default -> false;
        };
    if (gone) {
      engine.cleanup().forget(grant.claim());
    } else {
      engine.cleanup().undo(grant);
    }
  }

  /**
   * Ends the service of the lease that is {@linkplain LeaseState.Phase#PASSING passing}: the turn
   * goes on with the next local waiter, or is released on the server.
   *
   * @return what is known about it; already lost if it was lost meanwhile
   */
  ReleaseOutcome release(Deadline deadline) {
    LocalLine.Waiter next = null;
    try {
      next = next();
    } catch (RuntimeException | Error e) {
      // Also out of stack: whoever gives a lock up must not keep it for that.
      Engine.log.trace("no successor could be looked for", e);
    }
    LeaseState mine;
    LeaseState granted = null;
    CompletableFuture<Boolean> underWay;
    boolean lost;
    synchronized (this) {
      mine = lease;
      underWay = round;
      lost = mine.phase() == LOST;
      if (!lost && next != null && !engine.isClosed()) {
        granted = serve(next.request());
      } else if (!lost) {
        mine.phase(RELEASING);
        renewalPlanned = false;
      }
    }
    publish();
    if (next != null && granted != null) {
      next.onHandOver(granted);
      return ReleaseOutcome.RELEASED;
    }
    if (!lost) {
      if (next != null) {
        next.onClose();
      }
      return releaseOnServer(mine, underWay, deadline);
    }
    if (next == null || !next.onHead()) {
      engine.line().pass(name());
    }
    return ReleaseOutcome.ALREADY_LOST;
  }

  /** Takes the next local waiter, if there is one that fits and the turn has not had its share. */
  private LocalLine.@Nullable Waiter next() {
    if (!engine.line().mayBeWaitedFor(name()) || !mayHandOver(engine.time().nanoTime())) {
      return null;
    }
    boolean fifo = engine.backend().has(Capability.FIFO);
    return engine
        .line()
        .takeNext(
            name(),
            waiter ->
                waiter.request().sharesTurnWith(request)
                    && (!fifo || waiter.enteredAt() - startedAt <= 0));
  }

  @GuardedBy("this")
  private LeaseState serve(Request next) {
    lease.released(ReleaseOutcome.RELEASED);
    handOvers++;
    lease = new LeaseState(this, next, publicToken(handOvers));
    lease.noteAcquired();
    atRisk = false;
    reschedule();
    return lease;
  }

  private synchronized boolean mayHandOver(long now) {
    return lease.isOpen()
        && !lease.isAbandoned()
        && handOvers < MOST_HAND_OVERS
        && request.options().autoRenew()
        && now - startedAt < grant.effectiveTerm().toNanos() / 3
        && engine.remaining(validUntil, clockOffset) > 2 * (grant.certainFor().toNanos() / 3);
  }

  /** Releases on the server, after a renewal under way has ended. */
  private ReleaseOutcome releaseOnServer(
      LeaseState last, @Nullable CompletableFuture<Boolean> underWay, Deadline latest) {
    ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;
    try {
      Deadline deadline = latest.orIn(engine.requestTimeout());
      if (underWay != null) {
        // If it is overdue going on is safe: its outcome is guarded by the claim.
        var unused = Awaiting.doneUninterruptibly(engine.time(), underWay, deadline);
      }
      outcome = engine.releaseOnServer(grant, deadline);
    } finally {
      LeaseLostException gone =
          outcome == ReleaseOutcome.ALREADY_LOST
              ? lossOf(LossReason.TAKEN, "the store no longer had it when it was released")
              : null;
      synchronized (this) {
        if (gone == null) {
          last.released(outcome);
        } else {
          last.lose(gone);
        }
      }
      engine.remove(this);
      try {
        engine.notifier().flush();
        if (gone != null) {
          last.runOnLoss(gone);
        }
      } finally {
        engine.line().pass(name());
      }
    }
    return outcome;
  }
}
