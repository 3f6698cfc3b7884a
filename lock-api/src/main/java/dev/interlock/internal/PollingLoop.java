package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Asks a store that keeps no queue again and again, at intervals and after its messages. */
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
      Grant capped = cappedAt(granted.grant(), attempt.claim().issuedAt());
      return inTime(begin(attempt, capped, attempt.clockOffset()), granted.grant());
    }
    attempt.forget();
    Attempt.Busy busy = (Attempt.Busy) answer;
    noteHeld(busy, pollInterval(busy.retryAfter()));
    return null;
  }

  // At random a little later than the store's own time, so that waiters do not poll in step.
  private Duration pollInterval(Duration hint) {
    Duration usual = request.options().pollInterval();
    Duration least = hint.isNegative() ? Duration.ZERO : hint;
    Duration interval = least.compareTo(usual) < 0 ? least : usual;
    long spread = Math.min(interval.toNanos() / 8, MAX_SPREAD.toNanos());
    return interval.plus(MIN_PAUSE).plusNanos(engine.platform.random(spread + 1));
  }

  @Override
  @Nullable LeaseState pause(Deadline until) throws InterruptedException {
    contender.noteWaiting();
    boolean busy = contender.outage() == null;
    if (busy) {
      engine.reports.noteWaiting(request);
    }
    if (watch == null) {
      // Only now: an uncontended lock costs no watch. The watch signals once when it is in place,
      // so that the loop notices an earlier release.
      watch = watch();
    }
    // A message does not show that a failed store has recovered: undoing an attempt sends one, too.
    LeaseState offered = contender.pause(request, until, busy);
    if (offered != null) {
      // The thread that offered it may be slow to publish it. Without memory it is nevertheless to
      // be returned, because only the caller can release it.
      try {
        offered.grant().publish();
      } catch (Throwable e) {
        Timer.failed("starting a lease", e);
      }
    }
    return offered;
  }

  /** Null if there can be none at the moment: the waiter then polls. */
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
    LockBackend.Watch watched = watch;
    if (watched != null) {
      try {
        watched.close();
      } catch (Throwable e) {
        Timer.failed("closing a watch of the backend", e);
      }
    }
  }
}
