package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import java.lang.ref.Reference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lease: what the store granted, and its phase. The program has a separate handle, so that the
 * client notices when nothing refers to the handle any more.
 *
 * <p>A state machine, whose states are its {@link Phase}s. Every transition happens under its
 * monitor, and no call out of the client does. A lease that is handed off inside the client,
 * without a request to the server, ends, and its {@link #successor} takes over the grant as it is
 * (FAIR-01). What the server reports about a grant applies to the last lease that has it.
 *
 * <p>It schedules itself on the {@link Timer}, for its next renewal or the end of its validity.
 */
final class LeaseState extends Timer.Event {

  /** The phases of a lease, in this order. It may be lost in each of them but the last two. */
  enum Phase {
    /** The program holds it. */
    HELD,
    /** Its release has begun, and looks for a local waiter to hand it off to. */
    PASSING,
    /**
     * Its release is in flight; only the answer can still show that it was lost. If the release is
     * deferred, and not confirmed, it returns to the phase before.
     */
    RELEASING,
    /** Its release has ended, on the store or by a handoff. */
    RELEASED,
    /** It was lost, and the grant with it. */
    LOST
  }

  /** What a lease is to the one that had its grant before. */
  private enum Role {
    /** It takes the other's place: that one was handed off. */
    SUCCESSOR,
    /** It has the grant together with the other. */
    COMPANION,
    /** It is the client's own, for the rest of the other's minimum hold. */
    KEEPER
  }

  private static final int RENEWALS_PER_TTL = 3;

  // By how much the server's clock may be faster; twice the rate at which NTP slews one at most.
  private static final int DRIFT_DIVISOR = 1000;

  // Longer than the difference between any two times.
  private static final long NEVER = Long.MAX_VALUE / 2;

  // Renewals are rounded to eighths of their interval, so that many come due together.
  private static final int RENEWAL_GRID = 8;

  // Longer than the rounding, or a renewal would follow the last without a pause.
  private static final int MAX_RENEWALS_PER_INTERVAL = 4;

  // Less is the adjustment of a clock, or the pause of a thread between reading one clock and the
  // other: the lease ends that much earlier, but the machine has not slept.
  private static final long SLEEP_THAT_MATTERS = 100_000_000;

  private final Request request;
  private final Grant grant;

  /** Its grant as it is shared, if others may hold the name at the same time; otherwise null. */
  private final SharedGrants.@Nullable SharedGrant shared;

  /** What it has from those that had the grant before; null if it is the first. */
  private final @Nullable Inheritance inherited;

  /** When it began, by the monotonic clock and by the wall clock. */
  private final long begunAt;

  private final long begunAtMillis;

  private volatile Phase phase = Phase.HELD;

  /** The lease that it was handed off to. */
  private volatile @Nullable LeaseState successor;

  // --- when it ends ---

  /** The end of the validity; only moves later, except by what the machine has slept. */
  private volatile long validUntil;

  /** Wall clock minus monotonic clock before the last confirmed request was sent (LEASE-10). */
  private volatile long clockOffset;

  /** Null if it has none. */
  private volatile @Nullable Limits limits;

  // --- how it is kept ---

  /** Whether it is renewed in the background. */
  @GuardedBy("this")
  private boolean renewed = true;

  /** When to renew next, if {@link #renewalPlanned}. */
  @GuardedBy("this")
  private long renewAt;

  @GuardedBy("this")
  private boolean renewalPlanned = true;

  /** The renewal in flight, done when its outcome has been applied to all of its leases. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<Boolean> round;

  /** Null if the last renewal was confirmed. */
  @GuardedBy("this")
  private @Nullable Trouble trouble;

  // --- its program ---

  private volatile @Nullable Object site;
  private volatile @Nullable Reference<Object> handle;

  /** The program dropped it without releasing it. */
  @GuardedBy("this")
  private boolean abandoned;

  /** Whether the grant has ended with it, once it is lost. */
  private volatile boolean endsGrant;

  /** How it ended: a {@link ReleaseOutcome} or a {@link LeaseLostException}. */
  @GuardedBy("this")
  private @Nullable Object ending;

  /** Null as long as nobody wants to know what becomes of it. */
  @GuardedBy("this")
  private @Nullable Observers observers;

  /**
   * What a lease has from those that had its grant before.
   *
   * @param leases how many leases of programs had the grant before, or have it as well
   * @param role its relation to the lease before
   * @param grantedAt when the first of them began
   */
  private record Inheritance(int leases, Role role, long grantedAt) {}

  /** When it ends or may end, apart from its validity. Changes under the lease's monitor. */
  private static final class Limits {
    /** Before this a release is deferred. */
    private long minHoldEnd;

    /** Whether the server may have deferred a release, or may yet receive the request to. */
    private boolean deferralInDoubt;

    /** When the client releases a lock that it keeps, or asks the server again to keep it. */
    private long nextRelease;

    /** How long it waits before it asks, longer each time. */
    private long pause;

    private volatile long maxHoldEnd;

    /** When a lease without renewal ends, if only the client can end it. */
    private volatile long fixedEnd;

    Limits(long now) {
      this.minHoldEnd = now;
      this.nextRelease = now;
      this.maxHoldEnd = now + NEVER;
      this.fixedEnd = now + NEVER;
    }
  }

  /** What is wrong with its renewal. */
  private static final class Trouble {
    /** Null until a renewal fails. */
    private @Nullable Backoff backoff;

    /** Why it is at risk; null if it is not. */
    private @Nullable LockException risk;

    /** Why the last renewal was not confirmed; null if there is no answer yet. */
    private @Nullable LockException problem;
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

  private LeaseState(
      Request request, Grant grant, long clockOffset, long wall, long now, long slept) {
    this.request = request;
    this.grant = grant;
    this.shared = request.share().isWhole() ? null : new SharedGrants.SharedGrant();
    this.inherited = null;
    if (shared != null) {
      var unused = shared.open(); // it is the first
    }
    this.begunAt = now;
    this.begunAtMillis = wall;
    this.validUntil = grant.validUntil();
    this.clockOffset = clockOffset;
    planRenewal(confirmedAt() + interval());
    limit(slept);
    reschedule(now, slept);
  }

  /** A lease of the other's grant. Called under the other's monitor. */
  @SuppressWarnings("GuardedBy") // the other's monitor
  private LeaseState(LeaseState had, Request next, int leases, Role role) {
    this.request = next;
    this.grant = had.grant;
    this.shared = had.shared;
    this.inherited = new Inheritance(leases, role, had.grantedAt());
    this.validUntil = had.validUntil;
    this.clockOffset = had.clockOffset;
    this.renewAt = had.renewAt;
    // The outcome of a renewal in flight is passed on to those that take the other's place.
    this.round = role == Role.COMPANION ? null : had.round;
    if (had.trouble != null) {
      trouble = new Trouble();
      trouble.backoff = had.trouble.backoff;
      trouble.problem = had.trouble.problem;
    }
    long wall = engine().platform.wallMillis();
    long now = engine().platform.nanoTime();
    long slept = DefaultLockClient.slept(wall, now, clockOffset);
    boolean kept = isKept();
    this.begunAt = kept ? had.begunAt : now;
    this.begunAtMillis = kept ? had.begunAtMillis : wall;
    limit(slept);
    Limits former = had.limits;
    if (kept && former != null) {
      limits().minHoldEnd = former.minHoldEnd;
      limits().deferralInDoubt = former.deferralInDoubt;
      renewed &= had.renewed;
      renewalPlanned &= had.renewalPlanned;
      long pause = had.isKept() ? Math.min(2 * former.pause, interval()) : patience().toNanos();
      limits().pause = pause;
      limits().nextRelease =
          canDefer() ? earlier(former.minHoldEnd, now + pause) : former.minHoldEnd;
      if (former.minHoldEnd - validUntil > 0) {
        // Whatever the options say.
        renewed = true;
        renewalPlanned = true;
      }
    }
    reschedule(now, slept);
  }

  @GuardedBy("this")
  private void limit(long slept) {
    if (!request.ofSet()) {
      follow(request.options(), slept);
    }
  }

  /**
   * Makes the lease of a grant; it {@linkplain #begin begins} later.
   *
   * @return null if the grant came so late that it has no validity left
   */
  static @Nullable LeaseState of(Request request, Grant grant, long clockOffset) {
    Platform platform = request.engine().platform;
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    long slept = DefaultLockClient.slept(wall, now, clockOffset);
    if (grant.validUntil() - now - slept <= 0) {
      return null;
    }
    return new LeaseState(request, grant, clockOffset, wall, now, slept);
  }

  /**
   * From here on it may be lost. Unless the grant is shared, the caller is the head of the name's
   * local queue.
   */
  void begin() {
    noteAcquired();
    try {
      enroll();
      engine().watchSleep();
    } finally {
      publish();
    }
  }

  private void enroll() {
    if (shared == null) {
      engine().line.begin(this);
    } else {
      engine().shared.add(shared, this);
    }
  }

  private void remove() {
    if (shared == null) {
      engine().line.end(this);
    } else {
      engine().shared.remove(shared, this);
    }
    engine().ended(this);
  }

  /** Whether others may hold the name at the same time. */
  boolean isShared() {
    return shared != null;
  }

  Share share() {
    return request.share();
  }

  /**
   * Admits those who waited in the local queue when this was granted, and can use the same grant,
   * as readers can. Called by the head of the queue, once.
   *
   * @return a waiter that was taken from the queue and has to become the head; null if there is
   *     none
   */
  LocalQueue.@Nullable Waiter admitWaiters() {
    if (request.share().kind() != LockKind.READ_WRITE || !engine().line.mayBeWaitedFor(name())) {
      return null;
    }
    LocalQueue.Waiter next;
    while ((next =
            engine()
                .line
                .takeNext(
                    name(),
                    waiter ->
                        waiter.request().sharesGrantWith(request)
                            && waiter.enteredAt() - grantedAt() <= 0))
        != null) {
      LeaseState admitted = admit(next.request());
      if (admitted == null) {
        return next;
      }
      if (engine().isClosed()) {
        admitted.giveUp(null);
        next.onClose();
      } else {
        next.onHandoff(admitted);
      }
    }
    return null;
  }

  /** Null if this has ended, if its grant is used up, or if no lease can be made. */
  private @Nullable LeaseState admit(Request next) {
    LeaseState admitted = null;
    synchronized (this) {
      int before = shared == null || phase != Phase.HELD ? -1 : shared.open();
      if (shared == null || before < 0) {
        return null;
      }
      try {
        admitted = new LeaseState(this, next, before, Role.COMPANION);
      } catch (Throwable e) {
        Timer.failed("the admission of a reader", e);
      } finally {
        if (admitted == null) {
          // Not the last, as this is open.
          var unused = shared.close();
        }
      }
    }
    if (admitted != null) {
      // From here on only its waiter can release it, so it has to get there.
      Timer.survive("the beginning of a lease", admitted::begin);
      // A loss before it was added was reported to the others only.
      Timer.survive("an early loss", admitted::loseWithGrant);
    }
    return admitted;
  }

  private void loseWithGrant() {
    if (shared != null) {
      shared.reportLoss(this);
    }
  }

  private void noteAcquired() {
    try {
      if (engine().notifier.hasListeners()) {
        Duration waited = Duration.ofNanos(Math.max(0, begunAt - request.since()));
        synchronized (this) {
          Acquisition acquisition = request.acquisition();
          synchronized (acquisition) {
            if (acquisition.ends()) {
              note(new Events.Acquired(source(), waited, leasesBefore() > 0));
            }
          }
        }
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  /**
   * Applies the options of a member whose set is complete. Until then it was renewed in any case.
   */
  void complete() {
    synchronized (this) {
      if (isOpen()) {
        long wall = engine().platform.wallMillis();
        long now = engine().platform.nanoTime();
        long slept = DefaultLockClient.slept(wall, now, clockOffset);
        follow(request.options(), slept);
        reschedule(now, slept);
      }
    }
    publish();
  }

  @GuardedBy("this")
  private void follow(LockOptions options, long slept) {
    if (options.minHold().isPresent()) {
      limits().minHoldEnd = Deadline.in(engine().platform, options.minHold().get()).nanos();
    }
    if (options.maxHold().isPresent()) {
      // Sleep of the machine before the hold began does not count.
      limits().maxHoldEnd = Deadline.in(engine().platform, options.maxHold().get()).nanos() + slept;
    }
    renewed = options.autoRenew();
    if (!renewed && grant.expiresOnStore()) {
      renewalPlanned = false;
    } else if (!renewed && !isKept()) {
      // Nothing ends it on the server, so it needs its session until its end.
      limits().fixedEnd = confirmedAt() + grant.effectiveTtl().toNanos();
    }
  }

  @GuardedBy("this")
  private Limits limits() {
    Limits made = limits;
    if (made == null) {
      made = new Limits(engine().platform.nanoTime());
      limits = made;
    }
    return made;
  }

  String name() {
    return request.name();
  }

  long token() {
    return grant.token() == 0 ? 0 : grant.token() * Grant.LEASES_PER_GRANT + leasesBefore();
  }

  /** How many leases of programs had the grant before, or have it as well. */
  private int leasesBefore() {
    return inherited == null ? 0 : inherited.leases;
  }

  /** Whether it is the client's own, for the rest of a released lease's minimum hold. */
  private boolean isKept() {
    return inherited != null && inherited.role == Role.KEEPER;
  }

  /** The server may end the grant at any moment then: it must not go on to another's lease. */
  private synchronized boolean isDeferralInDoubt() {
    Limits present = limits;
    return present != null && present.deferralInDoubt;
  }

  /** When the first lease of the grant began. */
  private long grantedAt() {
    return inherited == null ? begunAt : inherited.grantedAt;
  }

  DefaultLockClient engine() {
    return request.engine();
  }

  Grant grant() {
    return grant;
  }

  Phase phase() {
    return phase;
  }

  /** Whether it still has the grant, for itself or for a successor. */
  private boolean isOpen() {
    Phase now = phase;
    return now == Phase.HELD || now == Phase.PASSING;
  }

  Duration effectiveTtl() {
    return grant.effectiveTtl();
  }

  private long interval() {
    return grant.validityPerConfirmation().toNanos() / RENEWALS_PER_TTL;
  }

  /** When the last request was sent that the store confirmed. */
  private long confirmedAt() {
    return validUntil - grant.validityPerConfirmation().toNanos();
  }

  // --- validity -------------------------------------------------------------------------------

  /** The end of the validity as things stand, by the monotonic clock. */
  private long end() {
    long valid = validUntil;
    Limits present = limits;
    return present == null ? valid : earlier(valid, earlier(present.maxHoldEnd, present.fixedEnd));
  }

  private static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }

  /**
   * The time until then, less what the machine has slept since the last confirmation. A sleep does
   * not end a lock that is kept for its minimum hold: no program relies on its validity, and the
   * store says whether it is still there.
   */
  long remainingNanos() {
    // Read the offset first, as it is written last: so no end meets the offset of a later one.
    long offset = clockOffset;
    return isKept() ? end() - engine().platform.nanoTime() : engine().remaining(end(), offset);
  }

  /** Whether it is valid at this moment. If its validity has ended, it is lost now. */
  boolean isHeld() {
    if (hasEnded()) {
      StackRoom.require();
      // If it has not ended after all, it was renewed in between.
      lose(this::endLoss);
    }
    return phase == Phase.HELD;
  }

  private boolean hasEnded() {
    return phase == Phase.HELD && remainingNanos() <= 0;
  }

  /** Whether it may have ended, or may have to be renewed, because the machine slept. */
  boolean mayBeOverdue(long wallMillis, long now) {
    long slept = DefaultLockClient.slept(wallMillis, now, clockOffset);
    return slept > SLEEP_THAT_MATTERS || end() - now - slept <= 0;
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
  private synchronized void throwLoss() {
    LeaseLostException loss = loss();
    if (loss != null) {
      throw new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
    }
  }

  /** Whether almost all of the validity of a confirmation is left. */
  boolean isFresh() {
    return engine().platform.nanoTime() - confirmedAt()
        < grant.validityPerConfirmation().toNanos() / 10;
  }

  // --- the timer ------------------------------------------------------------------------------

  @Override
  void fire(long now) {
    // A lease that is being released needs no timer; its successor schedules itself.
    if (!isHeld()) {
      return;
    }
    String dropped = null;
    boolean due;
    synchronized (this) {
      if (phase != Phase.HELD) {
        return;
      }
      long at = now + slept(now);
      if (isRenewalDue(at)) {
        dropped = whyDropped();
        if (dropped == null && round == null) {
          engine().renewer.due(this);
        }
      }
      if (dropped == null && renewalPlanned && riskAt() - at <= 0) {
        LockException problem = problem();
        putAtRisk(
            problem == null ? engine().unavailable("no renewal has been answered", null) : problem);
      }
      Limits present = limits;
      due = isKept() && (present == null || present.nextRelease - now <= 0);
      reschedule(now);
    }
    publish();
    if (dropped != null) {
      abandon(dropped);
    } else if (due) {
      var unused = releaseAsync();
    }
  }

  @GuardedBy("this")
  private void reschedule(long now) {
    reschedule(now, slept(now));
  }

  /** How long the machine has slept since the last confirmation. */
  private long slept(long now) {
    return DefaultLockClient.slept(engine().platform.wallMillis(), now, clockOffset);
  }

  @GuardedBy("this")
  private void reschedule(long now, long slept) {
    long at = now + slept; // by whichever clock has gone further
    boolean kept = isKept();
    long next = kept ? end() + slept : end();
    if (renewalPlanned) {
      // A renewal that is due and has no outcome may have found no thread: ask again.
      next = earlier(next, isRenewalDue(at) ? at + interval() / RENEWAL_GRID : renewAt);
      if (risk() == null) {
        next = earlier(next, riskAt());
      }
    }
    next -= slept;
    // By the monotonic clock alone: if the machine sleeps, the lock is held for longer.
    Limits present = limits;
    due(kept && present != null ? earlier(next, present.nextRelease) : next);
  }

  private boolean canDefer() {
    return engine().backend().has(Capability.DEFERRED_RELEASE);
  }

  @GuardedBy("this")
  private boolean isMinHoldOver(long now) {
    Limits present = limits;
    return present == null || present.minHoldEnd - now <= 0;
  }

  @GuardedBy("this")
  private boolean isRenewalDue(long at) {
    return renewalPlanned && renewAt - at <= 0;
  }

  /** The lease is at risk unless a renewal is confirmed before the last third of the validity. */
  private long riskAt() {
    return validUntil - interval();
  }

  @GuardedBy("this")
  private void planRenewal(long at) {
    renewAt = at - Math.floorMod(at, Math.max(1, interval() / RENEWAL_GRID));
  }

  /** Passes a transition on to the timer and the listeners. Call it under no monitor. */
  void publish() {
    engine().timer.update(this);
    engine().notifier.flush();
  }

  // --- renewal --------------------------------------------------------------------------------

  /** How long one renewal may take so that there is time for another. */
  Duration patience() {
    Duration share = Duration.ofNanos(interval());
    Duration most = engine().requestTimeout();
    return share.compareTo(most) < 0 ? share : most;
  }

  /**
   * Claims it for a renewal that its program asks for, after any that is in flight.
   *
   * @return false if it has ended
   */
  boolean awaitRenewal(CompletableFuture<Boolean> mine, Deadline deadline)
      throws InterruptedException {
    CompletableFuture<Boolean> other;
    while ((other = startRenewal(mine, true)) != mine) {
      if (!isHeld()) {
        return false;
      }
      if (other != null && !Awaiting.done(engine().platform, other, deadline)) {
        throw engine().unavailable("another renewal has not been answered", null);
      }
    }
    return true;
  }

  /**
   * Claims the lease for a renewal.
   *
   * @param asked whether its program asks for it; the schedule renews what is due
   * @return the caller's own if it may begin; the one in flight, if any; or null
   */
  synchronized @Nullable CompletableFuture<Boolean> startRenewal(
      CompletableFuture<Boolean> mine, boolean asked) {
    long now = engine().platform.nanoTime();
    boolean wanted = asked || isRenewalDue(now + slept(now));
    if (phase == Phase.HELD && wanted && round == null) {
      round = mine;
    }
    return round;
  }

  /**
   * Applies the outcome of a renewal to the lease, or to that which has its grant now.
   *
   * @param sentAt the time before the request was sent
   * @param offset {@link DefaultLockClient#clockOffset} before the request was sent
   * @param asked whether its program asked for it
   */
  void finishRenewal(
      CompletableFuture<Boolean> mine, Renewal answer, long sentAt, long offset, boolean asked) {
    for (LeaseState had = this; had != null; had = had.successor) {
      had.apply(mine, answer, sentAt, offset, asked);
    }
    if (shared != null && answer instanceof Renewal.Gone gone) {
      // Also if this one has left the grant meanwhile.
      engine().shared.lost(grant.claim(), gone.reason(), gone.detail());
    }
  }

  private void apply(
      CompletableFuture<Boolean> mine, Renewal answer, long sentAt, long offset, boolean asked) {
    boolean ended;
    synchronized (this) {
      if (round == mine) {
        // Together with the new due time: a renewal that comes due finds none in flight.
        round = null;
      }
      if (!isOpen()) {
        return;
      }
      // A confirmation after the end does not bring the lease back. Only this moves the end, under
      // the monitor, so that a lease once seen ended stays so.
      ended = remainingNanos() <= 0;
      if (!ended && answer instanceof Renewal.Renewed confirmed) {
        extend(confirmed.validUntil(), sentAt, offset, asked);
      } else if (!ended && answer instanceof Renewal.Failed failed) {
        postpone(failed.problem());
      }
    }
    if (answer instanceof Renewal.Gone gone) {
      lose(() -> lossUnlessDeferred(gone.reason(), gone.detail()));
    } else if (ended) {
      lose(this::endLoss);
    }
    publish();
  }

  @GuardedBy("this")
  private void extend(long promised, long sentAt, long offset, boolean asked) {
    // Never more than the grant allowed, whatever the backend reports now.
    long validity = grant.validityPerConfirmation().toNanos();
    long until = earlier(promised, sentAt + validity);
    long wall = engine().platform.wallMillis();
    long now = engine().platform.nanoTime();
    long sleptBefore = DefaultLockClient.slept(wall, now, clockOffset);
    long sleptSince = DefaultLockClient.slept(wall, now, offset);
    // By both clocks: the validity that the program has seen must not shrink because the offset was
    // read with a pause between the clocks, which looks like sleep.
    if (until - sleptSince - (validUntil - sleptBefore) > 0) {
      // A confirmation does not postpone these, so it does not make up for sleep, either.
      long forgotten = sleptBefore - sleptSince;
      Limits present = limits;
      if (present != null) {
        long holdEnd = present.maxHoldEnd;
        present.maxHoldEnd = holdEnd - forgotten;
        long unrenewedEnd = present.fixedEnd;
        present.fixedEnd = unrenewedEnd - forgotten;
      }
      validUntil = until;
      clockOffset = offset; // the last, see remainingNanos
    }
    if (asked && !renewed && !grant.expiresOnStore()) {
      limits().fixedEnd = sentAt + grant.effectiveTtl().toNanos();
    }
    trouble = null;
    if (renewalPlanned) {
      // With its own clock offset, no sleep before the request counts.
      // The sooner, the less of the validity was confirmed.
      long missing = sentAt + validity - until;
      planRenewal(
          sentAt
              + DefaultLockClient.slept(wall, now, clockOffset)
              - sleptSince
              + Math.max(interval() - missing, interval() / MAX_RENEWALS_PER_INTERVAL));
    }
    reschedule(now);
    if (phase == Phase.HELD && isWatched()) {
      note(new Events.Renewed(source(), left()));
    }
  }

  @GuardedBy("this")
  private void postpone(LockException failure) {
    long now = engine().platform.nanoTime();
    Trouble present = trouble();
    present.problem = failure;
    if (renewalPlanned) {
      if (present.backoff == null) {
        present.backoff = new Backoff(engine().platform, grant.validityPerConfirmation());
      }
      renewAt = now + slept(now) + present.backoff.nextNanos();
    }
    if (phase == Phase.HELD && isWatched()) {
      note(new Events.RenewalFailed(source(), left(), failure));
    }
    putAtRisk(failure);
    reschedule(now);
  }

  @GuardedBy("this")
  private void putAtRisk(LockException why) {
    if (risk() == null && phase == Phase.HELD) {
      trouble().risk = why;
      note(new Events.AtRisk(source(), left(), why));
    }
  }

  @GuardedBy("this")
  private Trouble trouble() {
    if (trouble == null) {
      trouble = new Trouble();
    }
    return trouble;
  }

  @GuardedBy("this")
  private @Nullable LockException risk() {
    return trouble == null ? null : trouble.risk;
  }

  @GuardedBy("this")
  private @Nullable LockException problem() {
    return trouble == null ? null : trouble.problem;
  }

  // --- a lease that is dropped ----------------------------------------------------------------

  /** Sets the handle: once that is unreachable, the lease cannot be released any more. */
  void heldThrough(Object object) {
    handle = engine().platform.weak(object);
  }

  /** Sets the call site that acquired it, or null if that was not recorded. */
  void site(@Nullable Object place) {
    site = place;
  }

  /** Why it will not be released, or null if it still may be. */
  private @Nullable String whyDropped() {
    Thread owner = request.owner();
    if (owner != null && !owner.isAlive()) {
      return "its thread ended while holding it";
    }
    Reference<Object> held = handle;
    return held != null && held.get() == null ? "nothing refers to it any more" : null;
  }

  /** Stops renewing a lease that will not be released. It ends with its validity. */
  void abandon(String why) {
    synchronized (this) {
      if (phase != Phase.HELD || abandoned) {
        return;
      }
      Limits present = limits();
      abandoned = true;
      renewed = false;
      renewalPlanned = false;
      present.fixedEnd = earlier(present.fixedEnd, validUntil);
      reschedule(engine().platform.nanoTime());
    }
    engine().callSites.rememberAll(name());
    Object place = site;
    engine()
        .leaseLog
        .note(
            () ->
                DefaultLockClient.log.warn(
                    "lease of \"{}\" was never released and is no longer renewed: {} (acquired at"
                        + " {})",
                    name(),
                    why,
                    place == null
                        ? "a call site that was not recorded; it will be from now on"
                        : place));
    publish();
  }

  // --- its loss -------------------------------------------------------------------------------

  /** The loss of the lease; null if it has not been lost. */
  synchronized @Nullable LeaseLostException loss() {
    return ending instanceof LeaseLostException why ? why : null;
  }

  @GuardedBy("this")
  private ReleaseOutcome outcome() {
    return ending instanceof ReleaseOutcome how ? how : ReleaseOutcome.UNKNOWN;
  }

  /** Ends the lease that has the grant now, because the server reports that the grant is gone. */
  void lose(LossReason reason, String detail) {
    for (LeaseState had = this; had != null; had = had.successor) {
      LeaseState loser = had;
      loser.lose(() -> loser.lossUnlessDeferred(reason, detail));
    }
  }

  /** Ends it as lost if the program still holds it, and returns whether it did. */
  boolean loseHeld(LossReason reason, String detail) {
    return lose(() -> phase == Phase.HELD ? lossOf(reason, detail) : null);
  }

  /**
   * The same for the lease that has its grant by now, because the client is closed.
   *
   * @return whether the caller has to release the grant
   */
  boolean loseToClose() {
    for (LeaseState had = this; had != null; had = had.successor) {
      String detail = had.isKept() ? "before its minimum hold had passed" : "while it was held";
      if (had.loseHeld(LossReason.CLOSED, "its client was closed " + detail)) {
        return had.endsGrant;
      }
    }
    return false;
  }

  /**
   * Null while the server may have deferred the release instead. It is then asked again until it
   * confirms that, and is renewed no more.
   */
  private synchronized @Nullable LeaseLostException lossUnlessDeferred(
      LossReason reason, String detail) {
    Limits present = limits;
    if (present == null || !present.deferralInDoubt || reason != LossReason.TAKEN) {
      return lossOf(reason, detail);
    }
    renewed = false;
    renewalPlanned = false;
    if (present.minHoldEnd - validUntil > 0) {
      validUntil = present.minHoldEnd;
    }
    return null;
  }

  private synchronized LeaseLostException lossOf(LossReason reason, String detail) {
    return new LeaseLostException(name(), reason, detail, problem());
  }

  /** The loss of a lease whose validity has ended; null if it has not, or was released. */
  private synchronized @Nullable LeaseLostException endLoss() {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = engine().platform.wallMillis();
    long now = engine().platform.nanoTime();
    long slept = isKept() ? 0 : DefaultLockClient.slept(wall, now, clockOffset);
    long at = now + slept; // by whichever clock has gone further
    if (phase != Phase.HELD || end() - at > 0) {
      return null;
    }
    Limits present = limits;
    if (present != null && present.maxHoldEnd - at <= 0 && validUntil - at > 0 && !abandoned) {
      return lossOf(LossReason.MAX_HOLD, "the maximum hold time has passed");
    }
    if (slept > SLEEP_THAT_MATTERS && (end() - now > 0 || !abandoned)) {
      return lossOf(
          LossReason.SUSPENDED,
          "the wall clock has advanced "
              + Duration.ofNanos(slept).toMillis()
              + " ms more than the monotonic clock; the machine slept");
    }
    if (abandoned) {
      return lossOf(LossReason.ABANDONED, "it was dropped without being released");
    }
    return lossOf(
        LossReason.EXPIRED,
        renewed ? "no renewal was confirmed in time" : "its TTL passed without renewal");
  }

  /**
   * Ends it as lost, unless its release is in flight, and signals the loss.
   *
   * @param verdict asked under the monitor; null if it is not lost
   */
  private boolean lose(Supplier<@Nullable LeaseLostException> verdict) {
    LeaseLostException found;
    boolean passes;
    synchronized (this) {
      found = isOpen() ? verdict.get() : null;
      if (found == null) {
        return false;
      }
      // A release in progress passes the head of the queue on.
      passes = phase == Phase.HELD && shared == null;
      lost(found);
    }
    try {
      endsGrant = shared == null || shared.close();
      engine().notifier.flush();
      try {
        if (endsGrant) {
          tidyServer(found.reason());
        }
      } finally {
        // Not before, because a client that is being closed waits for it.
        remove();
      }
      runOnLoss(found);
    } finally {
      if (passes) {
        engine().pass(name());
      }
    }
    return true;
  }

  @GuardedBy("this")
  private void lost(LeaseLostException why) {
    phase = Phase.LOST;
    ending = why;
    try {
      if (observers != null && observers.lost != null) {
        observers.lost.note(why);
      }
      // A lock that is kept without renewal is meant to end with its TTL.
      boolean expected = isKept() && !renewed && why.reason() == LossReason.EXPIRED;
      if (!expected) {
        note(new Events.Lost(source(), why, heldFor()));
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  private void tidyServer(LossReason reason) {
    if (reason == LossReason.CLOSED) {
      // The closing thread releases it.
      return;
    }
    boolean gone =
        switch (reason) {
          case TAKEN, SESSION_ENDED -> true;
          // Another lease of a shared grant may have renewed it later than this one.
          case EXPIRED, ABANDONED -> grant.expiresOnStore() && shared == null;
          default -> false;
        };
    if (gone) {
      engine().cleanup.forget(grant.claim());
    } else {
      engine().cleanup.undo(grant);
    }
  }

  // --- its release ----------------------------------------------------------------------------

  ReleaseOutcome release() {
    return release(null);
  }

  /**
   * Hands it off to the next local waiter, or releases it on the server.
   *
   * @param latest until when to ask the server; at most for a request time-out
   */
  ReleaseOutcome release(@Nullable Deadline latest) {
    return finishRelease(beginRelease(), latest);
  }

  /** Releases it as if so much of its minimum hold were left. */
  ReleaseOutcome releaseAfter(Duration delay) {
    synchronized (this) {
      if (phase == Phase.HELD) {
        limits().minHoldEnd = Deadline.in(engine().platform, delay).nanos();
      }
    }
    return release();
  }

  /** Releases a lease that its program never got; no minimum hold applies. */
  void giveUp(@Nullable Deadline latest) {
    forgetMinHold();
    var unused = release(latest);
  }

  synchronized void forgetMinHold() {
    Limits present = limits;
    if (present != null) {
      present.minHoldEnd = engine().platform.nanoTime();
    }
  }

  CompletableFuture<ReleaseOutcome> releaseAsync() {
    DefaultLockClient.AsyncRequest<ReleaseOutcome> finish =
        engine().new AsyncRequest<>(deadline -> finishRelease(null, deadline));
    CompletableFuture<ReleaseOutcome> other = beginRelease();
    if (other == null) {
      return finish.start();
    }
    // It occupies no thread: the release that it waits for may need that thread.
    CompletableFuture<ReleaseOutcome> follower = new CompletableFuture<>();
    var unused =
        other.thenAccept(known -> engine().notifier.deliver(() -> follower.complete(known)));
    return follower;
  }

  /**
   * Begins a release: from here on the lease is not held. The caller has to {@linkplain
   * #finishRelease finish} it.
   *
   * @return null, or how a release ends that another caller finishes or has finished
   */
  @Nullable CompletableFuture<ReleaseOutcome> beginRelease() {
    if (hasEnded()) {
      lose(this::endLoss);
    }
    synchronized (this) {
      return switch (phase) {
        case HELD -> {
          phase = Phase.PASSING;
          yield null;
        }
        case PASSING, RELEASING -> observers().release();
        case RELEASED -> CompletableFuture.completedFuture(outcome());
        case LOST -> CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
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
      Awaiting.doneUninterruptibly(engine().platform, other, Deadline.never(engine().platform));
      return other.join();
    }
    ReleaseOutcome known = ReleaseOutcome.UNKNOWN;
    try {
      known = pass(latest);
    } finally {
      synchronized (this) {
        // None is added any more.
        other = observers == null ? null : observers.release;
      }
      if (other != null) {
        other.complete(known);
      }
    }
    return known;
  }

  private ReleaseOutcome pass(@Nullable Deadline latest) {
    if (limits == null || !isDeferrable()) {
      return passOn(latest);
    }
    // If the server does not confirm to defer it, the release has what is left of this time.
    Deadline deadline = latest == null ? engine().requestDeadline() : latest;
    ReleaseOutcome deferred = defer(deadline);
    return deferred == null ? passOn(deadline) : deferred;
  }

  private ReleaseOutcome passOn(@Nullable Deadline latest) {
    if (shared != null) {
      return leave(shared, latest);
    }
    LocalQueue.Waiter next = null;
    try {
      next = next();
    } catch (Throwable e) {
      // A failure here must not prevent the release.
      DefaultLockClient.log.trace("no successor could be looked for", e);
    }
    LeaseState taker = null;
    CompletableFuture<Boolean> underWay;
    boolean gone;
    synchronized (this) {
      underWay = round;
      gone = phase == Phase.LOST;
      taker = gone || next == null || engine().isClosed() ? null : successorFor(next);
      if (taker != null) {
        released(ReleaseOutcome.HANDED_OFF);
        taker.noteAcquired();
        engine().line.begin(taker);
        successor = taker;
      } else if (!gone) {
        phase = Phase.RELEASING;
      }
    }
    if (next != null && taker != null) {
      try {
        engine().timer.cancel(this);
        taker.publish();
      } finally {
        next.onHandoff(taker);
      }
      return ReleaseOutcome.HANDED_OFF;
    }
    if (!gone && next != null && engine().isClosed()) {
      try {
        next.onClose();
      } catch (Throwable e) {
        Timer.failed("a waiter", e);
      }
      next = null;
    }
    try {
      return gone ? ReleaseOutcome.ALREADY_LOST : releaseOnServer(underWay, latest);
    } finally {
      if (next == null || !next.onHead()) {
        engine().pass(name());
      }
    }
  }

  /**
   * Leaves a shared grant: to a local waiter for permits, or to the others that have it. If there
   * are none, releases it on the server.
   */
  private ReleaseOutcome leave(SharedGrants.SharedGrant left, @Nullable Deadline latest) {
    AcquireLoop head = engine().line.loop(name());
    LocalQueue.Waiter behind = head == null ? null : handPermitOff(head);
    LeaseState taker = successor;
    if (head != null && taker != null) {
      try {
        remove();
        taker.publish();
      } finally {
        if (behind == null) {
          head.wake();
        } else {
          behind.onHandoff(taker);
        }
      }
      return ReleaseOutcome.HANDED_OFF;
    }
    CompletableFuture<Boolean> underWay;
    synchronized (this) {
      if (phase == Phase.LOST) {
        return ReleaseOutcome.ALREADY_LOST;
      }
      phase = Phase.RELEASING;
      underWay = round;
    }
    if (left.close()) {
      return releaseOnServer(underWay, latest);
    }
    synchronized (this) {
      released(ReleaseOutcome.HANDED_OFF);
    }
    remove();
    engine().notifier.flush();
    return ReleaseOutcome.HANDED_OFF;
  }

  /**
   * Makes a {@link #successor} of a permit, if a local waiter wants as many: the head of the queue
   * if it pauses; or, while it asks the store for as many, the waiter behind it, which would wait
   * for that answer otherwise. From its second request on, a head is passed by at most eight
   * permits; by none if it waits in the store's own queue.
   *
   * @return the waiter behind the head, if it gets the permit; null otherwise
   */
  private LocalQueue.@Nullable Waiter handPermitOff(AcquireLoop head) {
    if (request.share().kind() != LockKind.SEMAPHORE) {
      return null;
    }
    try {
      synchronized (this) {
        if (!mayHandoff()) {
          return null;
        }
        successor = head.offer(this::sharedSuccessorFor);
        if (successor != null || engine().backend().has(Capability.FIFO)) {
          return null;
        }
        return engine()
            .line
            .takeNext(
                name(),
                waiter ->
                    head.asksLike(request)
                        && waiter.request().sharesGrantWith(request)
                        && head.tryOvertake()
                        && (successor = sharedSuccessorFor(waiter.request())) != null);
      }
    } catch (Throwable e) {
      // A failure here must not prevent the release.
      DefaultLockClient.log.trace("a permit could not be offered", e);
      return null;
    }
  }

  /**
   * Null if it does not fit, or if none can be made. Called under the monitor. The successor takes
   * this one's place in the count of open leases: it may end before the caller goes on.
   */
  @SuppressWarnings("GuardedBy") // by way of the head's pause
  private @Nullable LeaseState sharedSuccessorFor(Request next) {
    if (engine().isClosed() || !next.sharesGrantWith(request)) {
      return null;
    }
    LeaseState taker;
    try {
      taker = new LeaseState(this, next, leasesBefore() + 1, Role.SUCCESSOR);
      taker.enroll();
    } catch (Throwable e) {
      Timer.failed("a handoff", e);
      return null;
    }
    released(ReleaseOutcome.HANDED_OFF);
    taker.noteAcquired();
    return taker;
  }

  private synchronized boolean isDeferrable() {
    return phase == Phase.PASSING
        && (!isKept() || canDefer())
        && !isMinHoldOver(engine().platform.nanoTime());
  }

  /** Returns null if the minimum hold passes meanwhile, or nothing can keep the lock. */
  private @Nullable ReleaseOutcome defer(Deadline latest) {
    ReleaseOutcome known = null;
    try {
      if (canDefer()) {
        known = deferOnServer(latest);
      }
    } catch (Throwable e) {
      if (phase != Phase.PASSING) {
        throw e;
      }
      Timer.failed("a deferred release", e);
    }
    if (known != null) {
      return known;
    }
    return keepsOn() ? ReleaseOutcome.DEFERRED : null;
  }

  /**
   * Lets the server release it when the minimum hold has passed, whatever becomes of this client.
   *
   * @return null if it has not confirmed that, and the lease is as before
   */
  private @Nullable ReleaseOutcome deferOnServer(Deadline latest) {
    // Or else the time to renew it instead.
    Deadline deadline = latest.orIn(patience());
    CompletableFuture<Boolean> underWay;
    synchronized (this) {
      underWay = round;
    }
    if (deadline.hasPassed()
        || (underWay != null
            && !Awaiting.doneUninterruptibly(engine().platform, underWay, deadline))) {
      return null;
    }
    Duration rest;
    synchronized (this) {
      long nanos = limits().minHoldEnd - engine().platform.nanoTime();
      rest = Duration.ofNanos(nanos + nanos / DRIFT_DIVISOR);
      if (phase != Phase.PASSING || nanos <= 0 || (shared != null && !shared.closeLast())) {
        return null;
      }
      phase = Phase.RELEASING;
    }
    @Nullable ReleaseOutcome answer = ReleaseOutcome.UNKNOWN;
    ReleaseOutcome known = null;
    try {
      answer = engine().tryRelease(grant, rest, deadline);
      if (answer == ReleaseOutcome.ALREADY_LOST) {
        // Or revoked: the server then keeps it until it is released.
        known = unlessDeferred(engine().releaseOnServer(grant, deadline));
      } else if (answer == ReleaseOutcome.DEFERRED) {
        known = answer;
      }
    } finally {
      if (known == null) {
        if (shared != null) {
          shared.reopen();
        }
        synchronized (this) {
          phase = Phase.PASSING;
          limits().deferralInDoubt |= answer != null;
        }
      } else {
        try {
          end(known);
        } finally {
          if (shared == null) {
            engine().pass(name());
          }
        }
      }
    }
    return known;
  }

  /** Passes the lock to a lease of the client itself, if the minimum hold has not passed. */
  private boolean keepsOn() {
    LeaseState keeper;
    synchronized (this) {
      if (phase != Phase.PASSING
          || engine().endsLeases()
          || isMinHoldOver(engine().platform.nanoTime())) {
        return false;
      }
      try {
        keeper = new LeaseState(this, request.kept(), leasesBefore(), Role.KEEPER);
        keeper.enroll();
      } catch (Throwable e) {
        Timer.failed("a minimum hold", e);
        return false;
      }
      released(ReleaseOutcome.DEFERRED);
      successor = keeper;
    }
    if (shared != null) {
      remove();
    }
    engine().timer.cancel(this);
    keeper.publish();
    return true;
  }

  /** Null if none can be made, as without memory: the lock is then released on the server. */
  @GuardedBy("this")
  private @Nullable LeaseState successorFor(LocalQueue.Waiter next) {
    try {
      return new LeaseState(this, next.request(), leasesBefore() + 1, Role.SUCCESSOR);
    } catch (Throwable e) {
      Timer.failed("a handoff", e);
      return null;
    }
  }

  /** Takes the next local waiter, if it fits and the grant may be handed off once more. */
  private LocalQueue.@Nullable Waiter next() {
    if (!engine().line.mayBeWaitedFor(name()) || !mayHandoff()) {
      return null;
    }
    boolean fifo = engine().backend().has(Capability.FIFO);
    return engine()
        .line
        .takeNext(
            name(),
            waiter ->
                waiter.request().sharesGrantWith(request)
                    && (!fifo || waiter.enteredAt() - grantedAt() <= 0));
  }

  private synchronized boolean mayHandoff() {
    return isOpen()
        && !isDeferralInDoubt()
        && renewed
        && leasesBefore() + 1 < Grant.LEASES_PER_GRANT
        && engine().platform.nanoTime() - grantedAt() < grant.effectiveTtl().toNanos() / 3
        && engine().remaining(validUntil, clockOffset) > 2 * interval();
  }

  /** Releases on the server, after a renewal in flight has ended. */
  private ReleaseOutcome releaseOnServer(
      @Nullable CompletableFuture<Boolean> underWay, @Nullable Deadline latest) {
    ReleaseOutcome known = ReleaseOutcome.UNKNOWN;
    try {
      Deadline deadline =
          latest == null ? engine().requestDeadline() : latest.orIn(engine().requestTimeout());
      if (underWay != null) {
        // If it is overdue, going on is safe: the claim guards its outcome.
        var unused = Awaiting.doneUninterruptibly(engine().platform, underWay, deadline);
      }
      known = unlessDeferred(engine().releaseOnServer(grant, deadline));
    } finally {
      end(known);
    }
    return known;
  }

  /** A server that has deferred the release keeps the lock until its minimum hold is over. */
  private synchronized ReleaseOutcome unlessDeferred(ReleaseOutcome answer) {
    return answer == ReleaseOutcome.ALREADY_LOST
            && isDeferralInDoubt()
            && isMinHoldOver(engine().platform.nanoTime())
        ? ReleaseOutcome.DEFERRED
        : answer;
  }

  /** Ends it as the server has answered to its release. */
  private void end(ReleaseOutcome known) {
    LeaseLostException found = known == ReleaseOutcome.ALREADY_LOST ? lossFoundAtRelease() : null;
    synchronized (this) {
      if (found == null) {
        released(known);
      } else {
        lost(found);
      }
    }
    remove();
    engine().notifier.flush();
    if (found != null) {
      runOnLoss(found);
    }
  }

  /** The loss of a lease that the store no longer had. Why is not known once the TTL has passed. */
  private synchronized LeaseLostException lossFoundAtRelease() {
    return engine().remaining(validUntil, clockOffset) > 0
        ? lossOf(LossReason.TAKEN, "the store no longer had it when it was released")
        : lossOf(LossReason.EXPIRED, "its TTL passed before the store confirmed its release");
  }

  @GuardedBy("this")
  private void released(ReleaseOutcome how) {
    phase = Phase.RELEASED;
    ending = how;
    try {
      if (isWatched()) {
        note(new Events.Released(source(), how, heldFor()));
      }
    } catch (Throwable e) {
      notReported(e);
    }
  }

  /** Releases, and throws if the lease turns out to be lost. */
  void releaseOrThrowLoss() {
    if (release() == ReleaseOutcome.ALREADY_LOST) {
      throwLoss();
    }
  }

  // --- reporting ------------------------------------------------------------------------------

  synchronized CompletableFuture<LeaseLostException> lost() {
    Observers waiting = observers();
    if (waiting.lost == null) {
      waiting.lost = new LossSignal(engine().notifier);
      LeaseLostException loss = loss();
      if (loss != null) {
        waiting.lost.tell(loss);
      }
    }
    return waiting.lost;
  }

  @GuardedBy("this")
  private Observers observers() {
    if (observers == null) {
      observers = new Observers();
    }
    return observers;
  }

  Subscription onEvent(Consumer<? super LockEvent> listener) {
    Notifier.ListenerCalls calls = engine().notifier.calls(listener, this::removeSink);
    addSink(calls);
    engine().notifier.flush();
    return calls;
  }

  /** The sink gets the lease's events from now on, and at once a loss or risk that exists. */
  synchronized void addSink(Notifier.Sink sink) {
    LeaseLostException loss = loss();
    if (loss != null) {
      sink.note(new Events.Lost(source(), loss, heldFor()));
      return;
    }
    observers().sinks.add(sink);
    LockException risk = risk();
    if (risk != null && phase == Phase.HELD) {
      sink.note(new Events.AtRisk(source(), left(), risk));
    }
  }

  synchronized void removeSink(Notifier.Sink sink) {
    if (observers != null) {
      observers.sinks.remove(sink);
    }
  }

  @GuardedBy("this")
  private boolean isWatched() {
    boolean own = observers != null && !observers.sinks.isEmpty();
    return !isKept() && (own || engine().notifier.hasListeners());
  }

  Events.Source source() {
    return engine().source(request, token());
  }

  private Duration left() {
    return Duration.ofNanos(Math.max(0, remainingNanos()));
  }

  /** How long it has been held until now. */
  Duration heldFor() {
    return Duration.ofNanos(engine().platform.nanoTime() - begunAt);
  }

  String holder() {
    return request.holder();
  }

  /** A snapshot if it is held; null otherwise. */
  @Nullable LeaseInfo info() {
    Duration left = left();
    return phase == Phase.HELD && !left.isZero()
        ? new Held(
            name(),
            request.share().kind(),
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

  /**
   * Records an event under the monitor, together with the change that it reports, so that listeners
   * get events in the order in which they happened. The next {@link Notifier#flush} delivers it.
   */
  @GuardedBy("this")
  private void note(LockEvent event) {
    if (observers != null) {
      observers.sinks.forEach(sink -> sink.note(event));
    }
    if (!isKept()) {
      engine().notifier.noteAll(event);
    }
    if (event instanceof LockEvent.AtRisk || event instanceof LockEvent.Lost) {
      engine().leaseLog.note(event);
    }
  }

  /** An event that cannot be reported must not stop the transition, for which others wait. */
  private static void notReported(Throwable why) {
    Timer.failed("an event", why);
  }

  /** At most one; called at once if the lease has been lost already. */
  void onLoss(Consumer<LeaseLostException> action) {
    LeaseLostException already;
    synchronized (this) {
      observers().onLoss = action;
      already = loss();
    }
    if (already != null) {
      action.accept(already);
    }
  }

  /** Runs what the client does on a loss. Not under the monitor: it may end other leases. */
  private void runOnLoss(LeaseLostException why) {
    Consumer<LeaseLostException> action;
    synchronized (this) {
      action = observers == null ? null : observers.onLoss;
    }
    if (action != null) {
      action.accept(why);
    }
  }
}
