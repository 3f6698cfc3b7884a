package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Asks a store without a queue again and again, at intervals and after its messages. */
final class PollingLoop extends AcquireLoop {

  private static final Duration MIN_PAUSE = Duration.ofMillis(1);
  private static final Duration MAX_SPREAD = Duration.ofMillis(50);

  /** Null until the first pause. */
  private LockBackend.@Nullable Watch watch;

  PollingLoop(Contender contender, Request request) {
    super(contender, request);
  }

  @Override
  @Nullable LeaseState ask(StoreAttempt attempt) throws InterruptedException {
    Attempt answer = engine.store.tryAcquire(attempt.claim(), requestDeadline());
    if (answer instanceof Attempt.Granted granted) {
      Grant capped = capValidity(granted.grant(), attempt.claim().issuedAt());
      return requireInTime(beginLease(attempt, capped, attempt.clockOffset()), granted.grant());
    }
    attempt.forget();
    Attempt.Busy busy = (Attempt.Busy) answer;
    recordHeld(busy, pollInterval(busy.retryAfter()));
    return null;
  }

  // Slightly later than the store's own time, at random, so that waiters do not poll in step.
  private Duration pollInterval(Duration retryAfter) {
    Duration configured = request.options().pollInterval();
    Duration requested = retryAfter.isNegative() ? Duration.ZERO : retryAfter;
    Duration interval = requested.compareTo(configured) < 0 ? requested : configured;
    long spread = Math.min(interval.toNanos() / 8, MAX_SPREAD.toNanos());
    return interval.plus(MIN_PAUSE).plusNanos(engine.platform.random(spread + 1));
  }

  @Override
  @Nullable LeaseState pause(Deadline until) throws InterruptedException {
    contender.recordWaiting();
    boolean busy = contender.outage() == null;
    if (busy) {
      engine.reports.reportWaiting(request);
    }
    if (watch == null) {
      // Created only now: an uncontended lock costs no watch. The watch signals once when it is in
      // place, so that the loop notices an earlier release.
      watch = watch();
    }
    // A message does not show that a failed store has recovered: undoing an attempt sends one, too.
    LeaseState offered = contender.pause(request, until, busy);
    if (offered != null) {
      // The thread that offered the lease may be slow to publish it. Even without memory it must be
      // returned, because only the caller can release it.
      try {
        offered.grant().publish();
      } catch (Throwable e) {
        Timer.logFailure("starting a lease", e);
      }
    }
    return offered;
  }

  /** Returns null if the store cannot be watched now: the waiter then polls. */
  private LockBackend.@Nullable Watch watch() {
    try {
      return engine.store.watch(request.name(), contender.wakeUp());
    } catch (LockUnavailableException e) {
      Engine.log.debug("the backend cannot watch \"{}\" now; polling", request.name(), e);
      return null;
    }
  }

  @Override
  void close() {
    LockBackend.Watch current = watch;
    if (current != null) {
      try {
        current.close();
      } catch (Throwable e) {
        Timer.logFailure("closing a watch of the backend", e);
      }
    }
  }
}
