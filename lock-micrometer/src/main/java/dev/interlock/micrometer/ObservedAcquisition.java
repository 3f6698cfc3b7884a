package dev.interlock.micrometer;

import dev.interlock.Lease;
import dev.interlock.LockTimeoutException;
import dev.interlock.MultiLease;
import io.micrometer.observation.Observation;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** The observation of one call that acquires. */
final class ObservedAcquisition {

  /** A call that acquires. */
  interface Call<R> {
    R call() throws InterruptedException;
  }

  private final LockObserver observer;
  private final LockContext context;
  private final Observation observation;
  private final @Nullable Observation parent;

  ObservedAcquisition(
      LockObserver observer,
      LockContext context,
      Observation observation,
      @Nullable Observation parent) {
    this.observer = observer;
    this.context = context;
    this.observation = observation;
    this.parent = parent;
  }

  /** Makes the call; a failure ends the observation. */
  <R> R call(Call<R> call) throws InterruptedException {
    try (Observation.Scope scope = observation.openScope()) {
      return call.call();
    } catch (InterruptedException | RuntimeException | Error e) {
      failed(e);
      throw e;
    }
  }

  /** Begins the observation of the hold. */
  ObservedHold acquired(Lease lease) {
    long token =
        observer.hasTokens() && !(lease instanceof MultiLease) ? lease.fencingToken() : 0;
    context.token(token);
    end("acquired");
    LockContext held = context.held(token);
    Observation hold =
        Observation.createNotStarted(observer.hold(), () -> held, observer.registry())
            .parentObservation(parent)
            .start();
    ObservedHold observed = new ObservedHold(held, hold);
    // It must not refer to the lease: one that the program drops has to become unreachable.
    lease.onEvent(observed);
    return observed;
  }

  void timedOut() {
    end("timed_out");
  }

  void cancelled() {
    end("cancelled");
  }

  void failed(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException
            ? Optional.ofNullable(failure.getCause()).orElse(failure)
            : failure;
    if (cause instanceof CancellationException) {
      cancelled();
      return;
    }
    observation.error(cause);
    if (cause instanceof LockTimeoutException) {
      timedOut();
    } else {
      end(cause instanceof InterruptedException ? "interrupted" : "failed");
    }
  }

  private void end(String outcome) {
    context.end(outcome);
    observation.stop();
  }
}
