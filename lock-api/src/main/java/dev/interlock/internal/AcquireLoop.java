package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One turn of a head of the local queue: it makes attempts until the store grants the lock, or its
 * time has passed, or the store has failed for longer than it bears. Used once.
 */
abstract class AcquireLoop {

  final Contender contender;
  final Engine engine;
  final Request request;

  /** The time before the last request, and when to give that up; none may have been sent yet. */
  private long sentAt;

  private long answerDue;

  private Duration maxPause = Duration.ZERO;

  AcquireLoop(Contender contender, Request request) {
    this.contender = contender;
    this.engine = contender.holdings().engine;
    this.request = request;
    this.sentAt = request.since();
    this.answerDue = request.since();
  }

  /**
   * Tries until the deadline, at least once. While the store fails, retries with growing pauses, as
   * long as the patience lasts.
   *
   * @return null if the deadline passed and the last answer was busy
   * @throws LockUnavailableException if the deadline passed and the last answer was a failure, or
   *     the patience has run out
   */
  final @Nullable LeaseState run() throws InterruptedException {
    boolean leavesPlace = false;
    try {
      LeaseState lease = acquire();
      leavesPlace = lease == null;
      return lease;
    } catch (InterruptedException e) {
      StoreAttempt current = contender.attempt();
      leavesPlace = current != null && !current.isGranted();
      throw e;
    } finally {
      close();
      contender.leave(leavesPlace);
    }
  }

  private @Nullable LeaseState acquire() throws InterruptedException {
    LeaseState lease = null;
    while (lease == null) {
      StoreAttempt attempt = contender.attemptFor(request);
      try {
        lease = ask(attempt);
      } catch (LockConfigurationException e) {
        if (!(engine.store instanceof QueueingBackend)) {
          // What a refused attempt may have left on the store expires there.
          attempt.forget();
        }
        contender.noteAnswer();
        throw e;
      } catch (LockUnavailableException e) {
        fail(attempt, e);
      }
      if (lease == null) {
        engine.ensureOpen();
        if (request.isOver()) {
          return giveUp();
        }
        lease = pause(request.deadline().orIn(maxPause));
      }
    }
    return lease;
  }

  /** Asks the store; null if another client is before this one. */
  abstract @Nullable LeaseState ask(StoreAttempt attempt) throws InterruptedException;

  /** Pauses before the next attempt. Returns a lease that was offered meanwhile, or null. */
  abstract @Nullable LeaseState pause(Deadline until) throws InterruptedException;

  /** Ends what the pauses needed. Never throws. */
  void close() {}

  /** Another client is before this one, and the store is to be asked again after a pause. */
  final void noteHeld(Attempt.Busy answer, Duration pause) {
    request.acquisition().heldBy(answer.holder());
    maxPause = pause;
    // From the request on: the process may have been stopped since the answer came.
    contender.noteHeld(sentAt + pause.plus(engine.requestTimeout()).toNanos());
  }

  final Deadline requestDeadline() {
    Outage present = contender.outage();
    sentAt = engine.platform.nanoTime();
    long patience = request.withoutStore().toNanos();
    if (present != null) {
      present.noteAsked(sentAt);
      patience = present.patience(request, sentAt);
    }
    Deadline deadline = request.forStore(engine.requestTimeout(), patience, sentAt);
    answerDue = deadline.nanos();
    return deadline;
  }

  /** Makes the lease; null if the grant is late. */
  final @Nullable LeaseState begin(StoreAttempt attempt, Grant granted, long clockOffset) {
    LeaseState lease = attempt.begin(granted, clockOffset, request);
    if (lease != null) {
      contender.noteAnswer();
    }
    return lease;
  }

  final LeaseState inTime(@Nullable LeaseState lease, Grant granted) {
    if (lease == null) {
      throw engine.unavailable(
          "the store granted the lock, but its reply came after the TTL of "
              + granted.effectiveTtl()
              + " had passed; use a longer TTL, or find the cause of the delay",
          null);
    }
    return lease;
  }

  /**
   * Corrects a backend that counts from the reply: a grant is certain for the time that the store
   * gives, counted from before the request was sent.
   */
  static Grant cappedAt(Grant grant, long sentAt) {
    long most = sentAt + grant.validityPerConfirmation().toNanos();
    return grant.validUntil() - most <= 0 ? grant : grant.validUntil(most);
  }

  /**
   * Ends an attempt that has failed.
   *
   * @throws LockUnavailableException the failure, if no other attempt follows
   */
  private void fail(StoreAttempt attempt, LockUnavailableException problem) {
    boolean isQueued = attempt.place() != null;
    if (isQueued && !attempt.isGranted()) {
      // The store has let us into the queue since its last failure. A grant that came too late is
      // no sign that it has recovered.
      contender.noteAnswer();
    }
    if (problem.isInDoubt() || isQueued || attempt.isGranted()) {
      attempt.end();
    } else {
      attempt.forget();
    }
    engine.ensureOpen();
    long now = engine.platform.nanoTime();
    Outage present = contender.outage();
    Outage outage = present == null ? new Outage(problem, sentAt, now) : present;
    // Whoever waits in the store's queue has not asked for anything all that time.
    outage.add(problem, isQueued ? sentAt : answerDue, now);
    contender.noteFailure(outage, now);
    if (request.isOver() || outage.patience(request, now) <= 0) {
      throw problem;
    }
    engine.reports.noteFailedAttempt(request, problem);
    maxPause = outage.pause(engine.platform, request, now);
  }

  /** Ends with nothing; throws if the store has not answered last. */
  private @Nullable LeaseState giveUp() {
    Outage present = contender.outage();
    if (present != null) {
      throw present.failure();
    }
    return null;
  }
}
