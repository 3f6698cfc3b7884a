package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
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
    contender.begin(request);
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
      contender.leave(leavesPlace);
    }
  }

  abstract @Nullable LeaseState acquire() throws InterruptedException;

  final Deadline requestDeadline() {
    Outage present = contender.outage();
    sentAt = engine.platform.nanoTime();
    long patience = request.withoutStore().toNanos();
    if (present != null) {
      present.ask(sentAt);
      patience = present.patience(request, sentAt);
    }
    Deadline deadline = request.forStore(engine.requestTimeout(), patience);
    answerDue = deadline.nanos();
    return deadline;
  }

  /** Makes the lease; null if the grant is late. */
  final @Nullable LeaseState begin(StoreAttempt attempt, Grant granted, long clockOffset) {
    LeaseState lease = attempt.begin(granted, clockOffset, request);
    if (lease != null) {
      contender.noteLease();
    }
    return lease;
  }

  final LeaseState inTime(@Nullable LeaseState lease, Grant granted) {
    if (lease == null) {
      throw engine.unavailable(
          "the lock was granted, but the answer came after its TTL of "
              + granted.effectiveTtl()
              + " had passed; use a longer TTL, or find what was so slow",
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
   * @return how long to pause before the next one
   * @throws LockUnavailableException the failure, if no other attempt follows
   */
  final Duration fail(StoreAttempt attempt, LockUnavailableException problem) {
    boolean isQueued = attempt.place() != null;
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
    contender.noteFailure(outage);
    contender.holdings().queue.fail(contender, other -> outage.patience(other, now) <= 0, problem);
    if (request.isOver() || outage.patience(request, now) <= 0) {
      throw problem;
    }
    engine.reports.noteFailedAttempt(request, problem);
    return outage.pause(engine.platform, request, now);
  }

  /** Ends with nothing; throws if the store has not answered last. */
  final @Nullable LeaseState giveUp() {
    Outage present = contender.outage();
    if (present != null) {
      throw present.failure();
    }
    return null;
  }
}
