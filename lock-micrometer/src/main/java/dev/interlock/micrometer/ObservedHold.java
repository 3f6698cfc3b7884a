package dev.interlock.micrometer;

import dev.interlock.LockEvent;
import dev.interlock.ReleaseOutcome;
import dev.interlock.micrometer.LockObservation.HoldEvent;
import io.micrometer.observation.Observation;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** The observation of one lease, which it ends with the lease. */
final class ObservedHold implements Consumer<LockEvent> {

  private final LockContext context;
  private final Observation observation;
  private final AtomicBoolean ended = new AtomicBoolean();

  ObservedHold(LockContext context, Observation observation) {
    this.context = context;
    this.observation = observation;
  }

  <T> T call(Callable<T> work) throws Exception {
    return observation.<T, Exception>scopedChecked(work::call);
  }

  @Override
  public void accept(LockEvent event) {
    if (event instanceof LockEvent.AtRisk) {
      observation.event(HoldEvent.AT_RISK);
    } else if (event instanceof LockEvent.Lost lost) {
      if (!ended.getAndSet(true)) {
        observation.event(HoldEvent.LOST);
        observation.error(lost.loss());
        end("lost");
      }
    } else if (event instanceof LockEvent.Released released) {
      released(released.outcome());
    }
  }

  /** The end of a release; its event may come before or later. A loss always has its event. */
  void released(ReleaseOutcome outcome) {
    if (outcome != ReleaseOutcome.ALREADY_LOST && !ended.getAndSet(true)) {
      end(outcome.name().toLowerCase(Locale.ROOT));
    }
  }

  private void end(String outcome) {
    context.end(outcome);
    observation.stop();
  }
}
