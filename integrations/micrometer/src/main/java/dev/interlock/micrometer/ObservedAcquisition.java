package dev.interlock.micrometer;

import dev.interlock.Lease;
import dev.interlock.LockTimeoutException;
import dev.interlock.MultiLease;
import io.micrometer.observation.Observation;
import java.util.concurrent.CancellationException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The observation of one call that acquires. */
final class ObservedAcquisition {

  /** A call that acquires. */
  interface Call<R, E extends Exception> {
    R call() throws E;
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

  /**
   * Makes the call as a child of the observation, which a failure ends.
   *
   * @param giveUp releases what was acquired, if the observation fails
   */
  <R, E extends Exception> R call(Call<R, E> call, Consumer<R> giveUp) throws E {
    R acquired = null;
    try {
      try (Observation.Scope scope = observation.openScope()) {
        acquired = call.call();
      }
      return acquired;
    } catch (Exception | Error e) {
      if (acquired != null) {
        giveUp.accept(acquired);
      }
      failed(e);
      throw e;
    }
  }

  /** Begins the observation of the hold. */
  ObservedHold acquired(Lease lease) {
    long token = observer.hasTokens() && !(lease instanceof MultiLease) ? lease.fencingToken() : 0;
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

  void failed(Throwable failure) {
    if (failure instanceof CancellationException) {
      end("cancelled");
      return;
    }
    observation.error(failure);
    if (failure instanceof LockTimeoutException) {
      timedOut();
    } else {
      end(failure instanceof InterruptedException ? "interrupted" : "failed");
    }
  }

  private void end(String outcome) {
    context.end(outcome);
    observation.stop();
  }
}
