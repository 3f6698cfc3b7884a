package dev.interlock.micrometer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockEvent;
import dev.interlock.ReleaseOutcome;
import dev.interlock.micrometer.LockObservation.HoldEvent;
import io.micrometer.observation.Observation;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The observation of one lease. It stops when the lease has ended and nothing uses the observation,
 * because Micrometer permits neither events nor an open scope after the stop.
 */
final class ObservedHold implements Consumer<LockEvent> {

  private final LockContext context;
  private final Observation observation;

  /** The number of open scopes, plus the calls to the observation that are in progress. */
  @GuardedBy("this")
  private int uses;

  @GuardedBy("this")
  private @Nullable String outcome;

  ObservedHold(LockContext context, Observation observation) {
    this.context = context;
    this.observation = observation;
  }

  <T> T call(Callable<T> work) throws Exception {
    if (!enter()) {
      return work.call();
    }
    try {
      return observation.<T, Exception>scopedChecked(work::call);
    } finally {
      leave();
    }
  }

  @Override
  public void accept(LockEvent event) {
    if (event instanceof LockEvent.Released release) {
      end(release.outcome());
    } else if (enter()) {
      try {
        if (event instanceof LockEvent.AtRisk) {
          observation.event(HoldEvent.AT_RISK);
        } else if (event instanceof LockEvent.Lost lost && trySetOutcome("lost")) {
          observation.event(HoldEvent.LOST);
          observation.error(lost.loss());
        }
      } finally {
        leave();
      }
    }
  }

  /** Ends the hold after a release. The event of the release may come before or after this call. */
  void end(ReleaseOutcome release) {
    if (release != ReleaseOutcome.ALREADY_LOST && enter()) {
      try {
        var unused = trySetOutcome(release.name().toLowerCase(Locale.ROOT));
      } finally {
        leave();
      }
    }
  }

  /** Counts a use, and returns true, unless the observation has stopped or is stopping. */
  private synchronized boolean enter() {
    boolean stopped = outcome != null && uses == 0;
    if (!stopped) {
      uses++;
    }
    return !stopped;
  }

  private synchronized boolean trySetOutcome(String value) {
    boolean first = outcome == null;
    if (first) {
      outcome = value;
    }
    return first;
  }

  private void leave() {
    String finalOutcome;
    synchronized (this) {
      uses--;
      finalOutcome = uses == 0 ? outcome : null;
    }
    if (finalOutcome != null) {
      context.setOutcome(finalOutcome);
      observation.stop();
    }
  }
}
