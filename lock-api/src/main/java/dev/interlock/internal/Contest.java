package dev.interlock.internal;

import com.google.common.collect.ImmutableList;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one client to get one lock from the server, made by the head of the local line.
 *
 * <p>Every attempt has a claim of its own. Whatever an attempt may have left behind (its reply was
 * lost, it was interrupted, its grant came too late) is undone in the background, guarded by that
 * claim, so that it can never touch a later one.
 */
final class Contest {

  private record EarlyLoss(Claim claim, LossReason reason, String detail) {}

  private final Engine engine;
  private final Request request;

  /** Made when something has to be waited for, as mostly nothing has. */
  private volatile @Nullable WakeUp wakeUp;

  private volatile QueueingBackend.@Nullable Place place;

  /** The present attempt. */
  private @Nullable Claim claim;

  /** Told by the server before a turn had begun, perhaps of earlier attempts. */
  @GuardedBy("this")
  private List<EarlyLoss> earlyLosses = List.of();

  private long clockOffset;

  /** Made when the store fails, as it seldom does. */
  private @Nullable Backoff backoff;

  private @Nullable LockUnavailableException trouble;
  private long troubleSince;

  @GuardedBy("this")
  private boolean over;

  /** Made when the client is closed meanwhile. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<@Nullable Void> ended;

  Contest(Engine engine, Request request) {
    this.engine = engine;
    this.request = request;
  }

  /** Tries once; a failure is thrown. */
  @Nullable LeaseState tryOnce() throws InterruptedException {
    try {
      Attempt attempt = attempt();
      return attempt instanceof Attempt.Granted granted ? begin(granted.grant()) : null;
    } finally {
      end();
    }
  }

  /**
   * Tries until the deadline. A store that fails is asked again, with growing pauses.
   *
   * @param deadline when to give up
   * @param patience for how long on end the store may be unavailable
   * @return null if the deadline passed and the last answer was busy
   * @throws LockUnavailableException if the deadline passed and the last answer was a failure, or
   *     the patience is at its end
   */
  @Nullable LeaseState run(Deadline deadline, Duration patience) throws InterruptedException {
    try {
      return engine.store() instanceof QueueingBackend queueing
          ? queue(queueing, deadline, patience)
          : poll(deadline, patience);
    } finally {
      end();
    }
  }

  private void end() {
    if (claim != null) {
      engine.leave(claim);
    }
    CompletableFuture<@Nullable Void> awaited;
    synchronized (this) {
      over = true;
      awaited = ended;
    }
    if (awaited != null) {
      awaited.complete(null);
    }
  }

  /** The server has taken back what it granted to an attempt. */
  synchronized void lost(Claim lost, LossReason reason, String detail) {
    earlyLosses =
        ImmutableList.<EarlyLoss>builder()
            .addAll(earlyLosses)
            .add(new EarlyLoss(lost, reason, detail))
            .build();
  }

  /** Ends the waiting, because the client is being closed. Called from another thread. */
  void stop() {
    WakeUp sleeping = wakeUp;
    if (sleeping != null) {
      sleeping.signal();
    }
    QueueingBackend.Place current = place;
    if (current != null) {
      current.close();
    }
  }

  /** Completes when nothing more comes of this contest. */
  synchronized CompletableFuture<@Nullable Void> ended() {
    if (ended == null) {
      ended = new CompletableFuture<>();
      if (over) {
        ended.complete(null);
      }
    }
    return ended;
  }

  private LeaseState begin(Grant grant) {
    answered();
    LeaseState lease = Turn.begin(engine, request, grant, clockOffset);
    List<EarlyLoss> early;
    synchronized (this) {
      early = earlyLosses;
    }
    // Of an earlier attempt there is no turn.
    early.forEach(loss -> engine.lost(loss.claim(), loss.reason(), loss.detail()));
    if (engine.isClosed()) {
      // The client may have released its leases before it knew of this one.
      lease.release();
      throw engine.closed();
    }
    return lease;
  }

  // --- stores without a queue -----------------------------------------------------------------

  private @Nullable LeaseState poll(Deadline deadline, Duration patience)
      throws InterruptedException {
    LockBackend.Watch watch = null;
    try {
      while (true) {
        Duration pause;
        try {
          Attempt attempt = attempt();
          if (attempt instanceof Attempt.Granted granted) {
            return begin(granted.grant());
          }
          answered();
          pause = lookAgain(((Attempt.Busy) attempt).lookAgain());
        } catch (LockUnavailableException e) {
          failed(e, deadline, patience);
          pause = pauseAfterFailure();
        }
        if (deadline.hasPassed()) {
          return giveUp();
        }
        WakeUp news = wakeUp();
        if (watch == null) {
          // Only now: an uncontended lock costs no watch. The watch signals once when it is in
          // place, so that a release before that is seen.
          watch = watch(news);
        }
        news.await(deadline.orIn(pause));
        engine.ensureOpen();
      }
    } finally {
      if (watch != null) {
        close(watch);
      }
    }
  }

  /** Null if there can be none at the moment: then the waiter just looks again. */
  private LockBackend.@Nullable Watch watch(WakeUp news) {
    try {
      return engine.store().watch(request.name(), news);
    } catch (LockUnavailableException e) {
      Engine.log.debug("\"{}\" cannot be watched", request.name(), e);
      return null;
    }
  }

  // A lock that was granted just now must not be forgotten because of this.
  private void close(AutoCloseable watch) {
    try {
      watch.close();
    } catch (Exception e) {
      Engine.log.error("the backend failed to end the watch of \"{}\"", request.name(), e);
    }
  }

  // A little later than the store's own time, at random, so that waiters do not look in step.
  private Duration lookAgain(Duration hint) {
    Duration most = request.options().lookAgain();
    long nanos = Math.max(0, (hint.compareTo(most) < 0 ? hint : most).toNanos());
    long spread = Math.min(nanos / 8, Duration.ofMillis(50).toNanos());
    return Duration.ofNanos(
        nanos + Duration.ofMillis(1).toNanos() + engine.platform().random(spread + 1));
  }

  /** One attempt, undone if its outcome is not known. */
  private Attempt attempt() throws InterruptedException {
    Claim claim = nextClaim();
    clockOffset = engine.clockOffset(engine.time().nanoTime());
    long sentAt = engine.time().nanoTime();
    boolean settled = false;
    try {
      Attempt attempt =
          engine.store().tryAcquire(claim, Deadline.in(engine.time(), engine.requestTimeout()));
      if (attempt instanceof Attempt.Granted granted) {
        Grant grant = cappedAt(granted.grant(), sentAt);
        requireInTime(grant);
        settled = true;
        return grant.validUntil() == granted.grant().validUntil()
            ? granted
            : new Attempt.Granted(grant);
      }
      settled = true;
      engine.cleanup().forget(claim);
      return attempt;
    } catch (LockConfigurationException e) {
      // What lapses ends by itself, should a refused attempt have left it. A place in line stays.
      settled = !(engine.store() instanceof QueueingBackend);
      if (settled) {
        engine.cleanup().forget(claim);
      }
      throw e;
    } finally {
      if (!settled) {
        undo(claim);
      }
    }
  }

  // A backend that counts from the reply is put right: a grant is certain for as long as the store
  // says, counted from before the request was sent.
  private static Grant cappedAt(Grant grant, long sentAt) {
    long most = sentAt + grant.certainFor().toNanos();
    return grant.validUntil() - most <= 0 ? grant : grant.validUntil(most);
  }

  // --- stores with a queue --------------------------------------------------------------------

  private @Nullable LeaseState queue(QueueingBackend store, Deadline deadline, Duration patience)
      throws InterruptedException {
    while (true) {
      Claim claim = nextClaim();
      boolean settled = false;
      QueueingBackend.Place joined = null;
      try {
        // Before whatever is sent from here on: a grant may count from the request to get in line.
        clockOffset = engine.clockOffset(engine.time().nanoTime());
        joined = store.join(claim, Deadline.in(engine.time(), engine.requestTimeout()));
        place = joined;
        engine.ensureOpen();
        answered();
        Attempt attempt = joined.await(deadline);
        engine.ensureOpen();
        if (attempt instanceof Attempt.Granted granted) {
          requireInTime(granted.grant());
          settled = true;
          return begin(granted.grant());
        }
      } catch (LockUnavailableException e) {
        failed(e, deadline, patience);
      } finally {
        if (joined != null) {
          close(joined);
        }
        if (!settled) {
          undo(claim);
        }
      }
      if (deadline.hasPassed()) {
        return giveUp();
      }
      if (trouble != null) {
        wakeUp().await(deadline.orIn(pauseAfterFailure()));
      }
      engine.ensureOpen();
    }
  }

  // --- both -----------------------------------------------------------------------------------

  /** What ends a pause; not after the client was closed, which may have found none to signal. */
  private WakeUp wakeUp() {
    WakeUp made = wakeUp;
    if (made == null) {
      made = new WakeUp(engine.time());
      wakeUp = made;
      engine.ensureOpen();
    }
    return made;
  }

  /** Makes the next attempt's identity. */
  private Claim nextClaim() {
    LockOptions options = request.options();
    Claim next =
        new Claim(
            request.name(),
            engine.nextClaimId(),
            options.term(),
            options.autoRenew(),
            request.holder());
    if (claim != null) {
      engine.leave(claim);
    }
    claim = next;
    engine.enter(next, this);
    return next;
  }

  private void undo(Claim claim) {
    if (engine.store() instanceof QueueingBackend) {
      engine.cleanup().undoUntilConfirmed(claim);
    } else {
      engine.cleanup().undoInDoubt(claim);
    }
  }

  private void requireInTime(Grant grant) {
    if (engine.remaining(grant.validUntil(), clockOffset) <= 0) {
      throw engine.unavailable(
          "the lock was granted, but the answer came after its term of "
              + grant.effectiveTerm()
              + " had passed; use a longer term, or find what was so slow",
          null);
    }
  }

  private void answered() {
    trouble = null;
    // Also what an earlier head of the line has left there.
    engine.line().trouble(request.name(), null);
    backoff = null;
  }

  private void failed(LockUnavailableException problem, Deadline deadline, Duration patience) {
    engine.ensureOpen();
    long now = engine.time().nanoTime();
    if (trouble == null) {
      troubleSince = now;
    }
    trouble = problem;
    engine.line().trouble(request.name(), problem);
    if (deadline.hasPassed() || now - troubleSince >= patience.toNanos()) {
      throw problem;
    }
  }

  private Duration pauseAfterFailure() {
    if (backoff == null) {
      backoff = new Backoff(engine.platform(), request.options().term());
    }
    return backoff.next();
  }

  private @Nullable LeaseState giveUp() {
    if (trouble != null) {
      throw trouble;
    }
    return null;
  }
}
