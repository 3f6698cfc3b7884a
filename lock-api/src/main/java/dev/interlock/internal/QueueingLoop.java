package dev.interlock.internal;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Waits in the queue that the store keeps. */
final class QueueingLoop extends AcquireLoop {

  private final QueueingBackend store;

  QueueingLoop(QueueingBackend store, Contender contender, Request request) {
    super(contender, request);
    this.store = store;
  }

  /** Joins the queue, and waits there until the deadline. */
  @Override
  @Nullable LeaseState ask(StoreAttempt attempt) throws InterruptedException {
    QueueingBackend.Place place = attempt.place();
    if (place == null) {
      place = attempt.join(store, requestDeadline());
    }
    engine.ensureOpen();
    boolean waits = place.hasPredecessor();
    contender.recordJoined(waits);
    if (waits) {
      engine.reports.reportWaiting(request);
    }
    Attempt answer = place.await(request.deadline());
    engine.ensureOpen();
    if (answer instanceof Attempt.Granted granted) {
      // A wall clock that was set back during the wait must not hide as much sleep. An earlier head
      // may have begun the wait.
      long offset = Math.min(attempt.clockOffset(), Validity.clockOffset(engine.platform));
      LeaseState lease = beginLease(attempt, granted.grant(), offset);
      return lease == null ? beginConfirmed(attempt, granted.grant()) : lease;
    }
    recordHeld((Attempt.Busy) answer, Duration.ZERO);
    return null;
  }

  @Override
  @Nullable LeaseState pause(Deadline until) throws InterruptedException {
    contender.wakeUp().await(until);
    return null;
  }

  /**
   * Begins a lease whose grant seems late because the machine slept during the wait. The sleep may
   * have come before the grant, and only the store knows whether the grant still exists.
   */
  private LeaseState beginConfirmed(StoreAttempt attempt, Grant granted)
      throws InterruptedException {
    LeaseState lease = null;
    long now = engine.platform.nanoTime();
    if (granted.validUntil() - now > 0) {
      long offset = Validity.clockOffset(engine.platform);
      Renewal renewal = store.renew(granted, requestDeadline());
      if (Renewer.withValidity(renewal, granted, now) instanceof Renewal.Renewed renewed) {
        Grant confirmed = capValidity(granted.validUntil(renewed.validUntil()), now);
        lease = beginLease(attempt, confirmed, offset);
      }
    }
    return requireInTime(lease, granted);
  }
}
