package dev.interlock.internal;

import dev.interlock.LockEvent;
import dev.interlock.LockEvent.NotAcquired.Reason;
import dev.interlock.LockException;
import dev.interlock.LockTimeoutException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reports acquisitions to listeners. A failure to report changes nothing for the acquisition. */
final class Reports {

  private final Platform platform;
  private final Notifier notifier;
  private final Engine.Ledger ledger;
  private final AtomicLong acquisitions = new AtomicLong();

  Reports(Platform platform, Notifier notifier, Engine.Ledger ledger) {
    this.platform = platform;
    this.notifier = notifier;
    this.ledger = ledger;
  }

  Events.Source source(Request request, long token) {
    return new Events.Source(
        request.name(),
        request.share().kind(),
        token,
        request.acquisition().number(acquisitions),
        Instant.ofEpochMilli(platform.wallMillis()),
        request.label());
  }

  /** Returns the label of the holder, if it is known without asking the store. */
  Optional<String> holder(Request request) {
    String localHolder = ledger.holder(request.name());
    return Optional.ofNullable(localHolder == null ? request.acquisition().heldBy() : localHolder);
  }

  /** Reports once that an acquisition waits. */
  void reportWaiting(Request request) {
    report(
        request,
        Acquisition::beginToWait,
        () -> new Events.Waiting(source(request, 0), holder(request)));
  }

  /** Reports a failed attempt, after which another one follows. */
  void reportFailedAttempt(Request request, LockException problem) {
    report(request, any -> true, () -> new Events.AttemptFailed(source(request, 0), problem));
  }

  /** Reports once that an acquisition ended without a lease. */
  void reportNotAcquired(Request request, @Nullable Throwable failure, Reason reason) {
    report(
        request,
        Acquisition::end,
        () ->
            new Events.NotAcquired(
                source(request, 0),
                reason,
                Duration.ofNanos(platform.nanoTime() - request.startedAt()),
                Optional.ofNullable(failure),
                holder(request)));
  }

  void reportFailure(Request request, Throwable failure) {
    if (failure instanceof LockTimeoutException) {
      reportNotAcquired(request, null, Reason.TIMED_OUT);
    } else if (failure instanceof InterruptedException) {
      reportNotAcquired(request, null, Reason.INTERRUPTED);
    } else {
      reportNotAcquired(request, failure, Reason.FAILED);
    }
  }

  private void report(Request request, Predicate<Acquisition> isDue, Supplier<LockEvent> event) {
    if (!notifier.hasListeners()) {
      return;
    }
    try {
      synchronized (request.acquisition()) {
        if (isDue.test(request.acquisition())) {
          notifier.enqueueAll(event.get());
        }
      }
    } catch (Throwable e) {
      Timer.logFailure("reporting an event", e);
    }
    notifier.flush();
  }
}
