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

  /** A call that may acquire a lock. */
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
   * Makes the call in the scope of the observation. A failure ends the observation.
   *
   * @param release releases the acquired lease if the observation fails
   */
  <R, E extends Exception> R call(Call<R, E> call, Consumer<R> release) throws E {
    R acquired = null;
    try {
      try (Observation.Scope scope = observation.openScope()) {
        acquired = call.call();
      }
      return acquired;
    } catch (Exception | Error e) {
      if (acquired != null) {
        release.accept(acquired);
      }
      fail(e);
      throw e;
    }
  }

  /** Ends this observation, and begins that of the hold. */
  ObservedHold beginHold(Lease lease) {
    long token = observer.hasTokens() && !(lease instanceof MultiLease) ? lease.fencingToken() : 0;
    context.setToken(token);
    end("acquired");
    LockContext holdContext = context.forHold(token);
    Observation hold =
        Observation.createNotStarted(observer.hold(), () -> holdContext, observer.registry())
            .parentObservation(parent)
            .start();
    ObservedHold observed = new ObservedHold(holdContext, hold);
    // The listener must not refer to the lease: a lease that the program abandons has to become
    // unreachable.
    lease.onEvent(observed);
    return observed;
  }

  void timeOut() {
    end("timed_out");
  }

  void fail(Throwable failure) {
    if (failure instanceof CancellationException) {
      end("cancelled");
      return;
    }
    observation.error(failure);
    if (failure instanceof LockTimeoutException) {
      timeOut();
    } else {
      end(failure instanceof InterruptedException ? "interrupted" : "failed");
    }
  }

  private void end(String outcome) {
    context.setOutcome(outcome);
    observation.stop();
  }
}
