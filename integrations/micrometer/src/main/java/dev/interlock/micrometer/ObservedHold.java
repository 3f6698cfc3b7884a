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
 * The observation of one lease. It stops when the lease has ended and nothing uses it any more:
 * Micrometer permits neither events nor an open scope after the stop.
 */
final class ObservedHold implements Consumer<LockEvent> {

  private final LockContext context;
  private final Observation observation;

  /** Work in a scope, and calls of the observation. */
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
      released(release.outcome());
    } else if (enter()) {
      try {
        if (event instanceof LockEvent.AtRisk) {
          observation.event(HoldEvent.AT_RISK);
        } else if (event instanceof LockEvent.Lost lost && ends("lost")) {
          observation.event(HoldEvent.LOST);
          observation.error(lost.loss());
        }
      } finally {
        leave();
      }
    }
  }

  /** The end of a release; its event may come before or later. A loss always has its event. */
  void released(ReleaseOutcome how) {
    if (how != ReleaseOutcome.ALREADY_LOST && enter()) {
      try {
        var unused = ends(how.name().toLowerCase(Locale.ROOT));
      } finally {
        leave();
      }
    }
  }

  /** False if the observation has stopped, or is about to. */
  private synchronized boolean enter() {
    boolean stopped = outcome != null && uses == 0;
    if (!stopped) {
      uses++;
    }
    return !stopped;
  }

  private synchronized boolean ends(String how) {
    boolean first = outcome == null;
    if (first) {
      outcome = how;
    }
    return first;
  }

  private void leave() {
    String how;
    synchronized (this) {
      uses--;
      how = uses == 0 ? outcome : null;
    }
    if (how != null) {
      context.end(how);
      observation.stop();
    }
  }
}
