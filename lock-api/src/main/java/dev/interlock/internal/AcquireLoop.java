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
 * The attempts of one head of the local queue, until the store grants the lock, the deadline
 * passes, or the store has failed for longer than the outage time-out. Used once.
 */
abstract class AcquireLoop {

  final Contender contender;
  final Engine engine;
  final Request request;

  /** The time before the last request was sent; initially the start of the call. */
  private long sentAt;

  /** The deadline of the last request. */
  private long answerDue;

  private Duration maxPause = Duration.ZERO;

  AcquireLoop(Contender contender, Request request) {
    this.contender = contender;
    this.engine = contender.holdings().engine;
    this.request = request;
    this.sentAt = request.startedAt();
    this.answerDue = request.startedAt();
  }

  /**
   * Tries until the deadline, at least once. While the store fails, retries with growing pauses
   * until the outage time-out.
   *
   * @return null if the deadline passed and the store answered last that the lock is held
   * @throws LockUnavailableException if the deadline passed during an outage, or the outage
   *     time-out has passed
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
      contender.detachHead(leavesPlace);
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
          // The remains of a refused attempt expire on the store.
          attempt.forget();
        }
        contender.recordAnswer();
        throw e;
      } catch (LockUnavailableException e) {
        endFailed(attempt, e);
      }
      if (lease == null) {
        engine.ensureOpen();
        if (request.isOver()) {
          return endWithoutLease();
        }
        lease = pause(request.deadline().atMost(maxPause));
      }
    }
    return lease;
  }

  /** Asks the store; null if another client holds the lock or is before this one. */
  abstract @Nullable LeaseState ask(StoreAttempt attempt) throws InterruptedException;

  /** Pauses before the next attempt. Returns a lease that was offered meanwhile, or null. */
  abstract @Nullable LeaseState pause(Deadline until) throws InterruptedException;

  /** Frees the resources of the pauses. Never throws. */
  void close() {}

  /** Records that another client holds the lock or is before this one, and how long to pause. */
  final void recordHeld(Attempt.Busy answer, Duration pause) {
    request.acquisition().setHeldBy(answer.holder());
    maxPause = pause;
    // Counted from the request: the process may have been stopped since the answer arrived.
    contender.recordHeld(sentAt + pause.plus(engine.requestTimeout()).toNanos());
  }

  final Deadline requestDeadline() {
    Outage current = contender.outage();
    sentAt = engine.platform.nanoTime();
    long outageRemaining = request.outageTimeout().toNanos();
    if (current != null) {
      current.recordRequest(sentAt);
      outageRemaining = current.remaining(request, sentAt);
    }
    Deadline deadline = request.storeDeadline(engine.requestTimeout(), outageRemaining, sentAt);
    answerDue = deadline.nanos();
    return deadline;
  }

  /** Creates the lease; null if the grant arrived too late. */
  final @Nullable LeaseState beginLease(StoreAttempt attempt, Grant granted, long clockOffset) {
    LeaseState lease = attempt.beginLease(granted, clockOffset, request);
    if (lease != null) {
      contender.recordAnswer();
    }
    return lease;
  }

  final LeaseState requireInTime(@Nullable LeaseState lease, Grant granted) {
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
   * Corrects a backend that counts from the reply. A grant is certain for the time that the store
   * gives, counted from before the request was sent.
   */
  static Grant capValidity(Grant grant, long sentAt) {
    long latestEnd = sentAt + grant.validityPerConfirmation().toNanos();
    return grant.validUntil() - latestEnd <= 0 ? grant : grant.validUntil(latestEnd);
  }

  /**
   * Ends a failed attempt.
   *
   * @throws LockUnavailableException the failure, if no other attempt follows
   */
  private void endFailed(StoreAttempt attempt, LockUnavailableException problem) {
    boolean isQueued = attempt.place() != null;
    if (isQueued && !attempt.isGranted()) {
      // The store has let this client into the queue since its last failure. A grant that arrived
      // too late does not show that it has recovered.
      contender.recordAnswer();
    }
    if (problem.isInDoubt() || isQueued || attempt.isGranted()) {
      attempt.end();
    } else {
      attempt.forget();
    }
    engine.ensureOpen();
    long now = engine.platform.nanoTime();
    Outage current = contender.outage();
    Outage outage = current == null ? new Outage(problem, sentAt, now) : current;
    // A waiter in the store's queue has sent no request in the meantime.
    outage.add(problem, isQueued ? sentAt : answerDue, now);
    contender.recordFailure(outage, now);
    if (request.isOver() || outage.remaining(request, now) <= 0) {
      throw problem;
    }
    engine.reports.reportFailedAttempt(request, problem);
    maxPause = outage.pause(engine.platform, request, now);
  }

  /** Ends without a lease; throws during an outage. */
  private @Nullable LeaseState endWithoutLease() {
    Outage current = contender.outage();
    if (current != null) {
      throw current.failure();
    }
    return null;
  }
}
