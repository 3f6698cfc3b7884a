package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Renewal;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a lease is, apart from the handle that the user holds: the engine refers to this, and so
 * notices when the handle becomes unreachable.
 *
 * <p>Transitions happen under the monitor of the {@link Turn}.
 */
final class LeaseState {

  /** How far a lease is. It only goes on, and may be lost from each phase but the last two. */
  enum Phase {
    /** Its program has it. */
    HELD,
    /** Its release has begun, and looks for a local waiter who takes the turn over. */
    PASSING,
    /** Its release is on its way to the store, which alone may say now that it was lost. */
    RELEASING,
    /** Its release has ended; the turn may go on with another lease. */
    RELEASED,
    /** It was lost, and the turn with it. */
    LOST
  }

  private final Turn turn;
  private final Request request;
  private final long token;
  private volatile Phase phase = Phase.HELD;

  /** When its maximum hold ends. */
  private volatile long maxHoldEnd;

  /** When a lease ends that is not renewed, if the engine has to see to that. */
  private volatile long fixedEnd;

  private volatile @Nullable Object site;
  private volatile @Nullable Reference<Object> handle;

  @GuardedBy("turn")
  private boolean keep;

  @GuardedBy("turn")
  private boolean abandoned;

  @GuardedBy("turn")
  private @Nullable LeaseLostException loss;

  /** What the release has come to. */
  @GuardedBy("turn")
  private ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;

  /** For those who release it as well while its release is under way. */
  @GuardedBy("turn")
  private @Nullable CompletableFuture<ReleaseOutcome> release;

  @GuardedBy("turn")
  private @Nullable LossSignal lost;

  @GuardedBy("turn")
  private @Nullable List<Notifier.Subscription> subscriptions;

  /** The engine's own part in a loss: called first, on the thread that noticed; never blocks. */
  @GuardedBy("turn")
  private @Nullable Consumer<LeaseLostException> onLoss;

  LeaseState(Turn turn, Request request, long token) {
    this.turn = turn;
    this.request = request;
    this.token = token;
    this.keep = request.keep();
    long never = Deadline.never(turn.engine.time()).nanos();
    this.maxHoldEnd = request.keep() ? never : maxHoldFromNow().orElse(never);
    // Where nothing ends it on the server, the engine has to.
    this.fixedEnd = request.renews() || turn.grant.lapses() ? never : turn.termEnd();
  }

  private OptionalLong maxHoldFromNow() {
    Optional<Duration> maxHold = request.options().maxHold();
    return maxHold.isPresent()
        ? OptionalLong.of(Deadline.in(turn.engine.time(), maxHold.get()).nanos())
        : OptionalLong.empty();
  }

  String name() {
    return request.name();
  }

  long token() {
    return token;
  }

  Phase phase() {
    return phase;
  }

  void phase(Phase next) {
    synchronized (turn) {
      phase = next;
    }
  }

  /** Whether the turn is still had, by it or for who is next. */
  boolean isOpen() {
    Phase now = phase;
    return now == Phase.HELD || now == Phase.PASSING;
  }

  Object site() {
    Object place = site;
    return place == null
        ? "a place that was not recorded, as those of this name will be from now on,"
        : place;
  }

  void site(@Nullable Object place) {
    this.site = place;
  }

  Duration effectiveTerm() {
    return turn.grant.effectiveTerm();
  }

  Engine engine() {
    return turn.engine;
  }

  /** Until when the lease is certain as things stand. */
  long end() {
    return earlier(turn.validUntil(), earlier(maxHoldEnd, fixedEnd));
  }

  private static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }

  boolean isAtMaxHold(long now) {
    return maxHoldEnd - now <= 0;
  }

  /** Whether almost all of what a confirmation promises is still to come. */
  boolean isFresh() {
    long certainFor = turn.grant.certainFor().toNanos();
    return turn.validUntil() - turn.engine.time().nanoTime() > certainFor - certainFor / 10;
  }

  boolean isHeld() {
    return phase == Phase.HELD && turn.isCertain(this);
  }

  Duration remaining() {
    if (!isHeld()) {
      return Duration.ZERO;
    }
    return turn.remaining(end());
  }

  void ensureHeld() {
    if (isHeld()) {
      return;
    }
    synchronized (turn) {
      if (loss != null) {
        throw lossFor(loss);
      }
    }
    throw new IllegalStateException("the lease of \"" + name() + "\" has been released");
  }

  // A new exception each time: the caller's stack is what helps to find the write that came late.
  private static LeaseLostException lossFor(LeaseLostException loss) {
    return new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
  }

  // --- renewal --------------------------------------------------------------------------------

  boolean renews() {
    synchronized (turn) {
      return !abandoned && (keep || request.options().autoRenew());
    }
  }

  /** The program holds it through this object; without it, nobody can release it any more. */
  void heldThrough(Object object) {
    handle = turn.engine.platform().weak(object);
  }

  /** Why nobody will release it, or null if somebody might. */
  @Nullable String orphaned() {
    Thread owner = request.owner();
    if (owner != null && !owner.isAlive()) {
      return "its thread ended while holding it";
    }
    Reference<Object> held = handle;
    return held != null && held.get() == null ? "nothing refers to it any more" : null;
  }

  /** Ends the keeping of a member whose set is complete: from now on its options decide. */
  void settle() {
    synchronized (turn) {
      keep = false;
      maxHoldEnd = maxHoldFromNow().orElse(maxHoldEnd);
      if (!request.options().autoRenew() && !turn.grant.lapses()) {
        fixedEnd = turn.termEnd();
      }
    }
    turn.settled();
  }

  /** Under the turn's monitor. */
  void extendFixedTerm(long until) {
    fixedEnd = until;
  }

  void renew() throws InterruptedException {
    StackRoom.require();
    Engine engine = turn.engine;
    ensureHeld();
    CompletableFuture<Boolean> mine = new CompletableFuture<>();
    while (!turn.startRenewal(mine, this)) {
      ensureHeld();
      CompletableFuture<Boolean> other = turn.round();
      if (other != null) {
        var unused = Awaiting.done(engine.time(), other, engine.requestDeadline());
      }
    }
    long sentAt = engine.time().nanoTime();
    long offset = engine.clockOffset();
    Renewal outcome = new Renewal.Failed(engine.unavailable("the renewal was broken off", null));
    try {
      outcome = engine.store().renew(turn.grant, engine.requestDeadline());
    } catch (LockException e) {
      outcome = new Renewal.Failed(e);
    } finally {
      turn.finishRenewal(mine, outcome, sentAt, offset, this);
      mine.complete(true);
    }
    if (outcome instanceof Renewal.Failed failed) {
      throw failed.problem();
    }
    ensureHeld();
  }

  // --- the end --------------------------------------------------------------------------------

  ReleaseOutcome release() {
    return release(Deadline.never(engine().time()));
  }

  /** Releases it, and asks the store no longer than until the deadline or a request time-out. */
  ReleaseOutcome release(Deadline deadline) {
    StackRoom.require();
    // If it has come to its end unnoticed it is lost now.
    var unused = isHeld();
    CompletableFuture<ReleaseOutcome> end;
    boolean mine;
    synchronized (turn) {
      mine = phase == Phase.HELD;
      if (phase == Phase.LOST) {
        return ReleaseOutcome.ALREADY_LOST;
      }
      if (phase == Phase.RELEASED) {
        return outcome;
      }
      if (mine) {
        phase = Phase.PASSING;
      }
      if (release == null) {
        release = new CompletableFuture<>();
      }
      end = release;
    }
    if (!mine) {
      // Another thread's release, which is bounded by the request time-out.
      Awaiting.doneUninterruptibly(engine().time(), end, Deadline.never(engine().time()));
      return end.join();
    }
    ReleaseOutcome known = ReleaseOutcome.UNKNOWN;
    try {
      known = turn.release(deadline);
    } finally {
      end.complete(known);
    }
    return known;
  }

  void released(ReleaseOutcome how) {
    synchronized (turn) {
      phase = Phase.RELEASED;
      outcome = how;
      if (subscriptions != null || engine().notifier().hasListeners()) {
        note(new LockEvent.Released(name(), token, how));
      }
    }
  }

  void lose(LeaseLostException why) {
    synchronized (turn) {
      phase = Phase.LOST;
      loss = why;
      if (lost != null) {
        lost.note(why);
      }
      note(new LockEvent.Lost(name(), token, why));
    }
  }

  /** Another member of the same set was lost. */
  void loseToSibling(String sibling) {
    turn.loseIfServing(this, LossReason.SIBLING_LOST, "\"" + sibling + "\" was lost");
  }

  /** Releases, and throws if the lease turns out to be lost. */
  void releaseOrThrowLoss() {
    if (release() == ReleaseOutcome.ALREADY_LOST) {
      synchronized (turn) {
        if (loss != null) {
          throw lossFor(loss);
        }
      }
    }
  }

  /** Returns whether there was something to abandon. */
  boolean abandon(long until) {
    synchronized (turn) {
      if (phase != Phase.HELD) {
        return false;
      }
      abandoned = true;
      fixedEnd = earlier(fixedEnd, until);
      return true;
    }
  }

  boolean isAbandoned() {
    synchronized (turn) {
      return abandoned;
    }
  }

  /** It will not be released: see {@link #orphaned}. */
  void forsaken(String how) {
    turn.orphan(this, how);
  }

  /** At most one; called at once if the lease has been lost already. */
  void onLoss(Consumer<LeaseLostException> action) {
    LeaseLostException already;
    synchronized (turn) {
      onLoss = action;
      already = loss;
    }
    if (already != null) {
      action.accept(already);
    }
  }

  // --- telling --------------------------------------------------------------------------------

  CompletableFuture<LeaseLostException> lost() {
    synchronized (turn) {
      if (lost == null) {
        lost = new LossSignal(engine().notifier());
        if (loss != null) {
          lost.tell(loss);
        }
      }
      return lost;
    }
  }

  void onEvent(Consumer<? super LockEvent> listener) {
    Notifier.Subscription subscription = turn.engine.notifier().subscription(listener);
    LeaseLostException already;
    synchronized (turn) {
      already = loss;
      if (already == null) {
        if (subscriptions == null) {
          subscriptions = new ArrayList<>(1);
        }
        subscriptions.add(subscription);
      }
    }
    if (already != null) {
      subscription.note(new LockEvent.Lost(name(), token, already));
      engine().notifier().flush();
    }
  }

  /**
   * Notes an event under the turn's monitor together with what it tells of, so that listeners learn
   * things in the order in which they happened. It goes on its way with the turn's next {@link
   * Notifier#flush}.
   */
  void note(LockEvent event) {
    synchronized (turn) {
      if (subscriptions != null) {
        subscriptions.forEach(subscription -> subscription.note(event));
      }
    }
    engine().notifier().noteAll(event);
    if (event instanceof LockEvent.AtRisk || event instanceof LockEvent.Lost) {
      engine().leaseLog().note(event);
    }
  }

  void noteAcquired() {
    if (turn.engine.notifier().hasListeners()) {
      note(new LockEvent.Acquired(name(), token));
    }
  }

  /** Lets the engine do its own part. Not under the monitor: it may end other turns. */
  void runOnLoss(LeaseLostException why) {
    Consumer<LeaseLostException> action;
    synchronized (turn) {
      action = onLoss;
    }
    if (action != null) {
      action.accept(why);
    }
  }
}
