package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Who wants to know what becomes of a lease, and what they are told. Events are recorded under the
 * monitor of the grant, together with the change that they report, so that listeners get them in
 * the order in which they happened. The next {@link Notifier#flush} delivers them.
 */
final class LeaseObservers {

  private final LeaseState lease;

  /** For other threads that release it while its release is in progress. */
  private @Nullable CompletableFuture<ReleaseOutcome> release;

  private @Nullable LossSignal lost;
  private @Nullable List<Notifier.Sink> sinks;

  /** What the client does on a loss: called first, on the thread that noticed; never blocks. */
  private @Nullable Consumer<LeaseLostException> onLoss;

  LeaseObservers(LeaseState lease) {
    this.lease = lease;
  }

  // --- who observes -----------------------------------------------------------------------------

  CompletableFuture<ReleaseOutcome> release() {
    if (release == null) {
      release = new CompletableFuture<>();
    }
    return release;
  }

  /** Tells those who wait for the release. Under no monitor; none is added any more. */
  void tellRelease(ReleaseOutcome outcome) {
    CompletableFuture<ReleaseOutcome> others;
    synchronized (lease.grant()) {
      others = release;
    }
    if (others != null) {
      others.complete(outcome);
    }
  }

  CompletableFuture<LeaseLostException> lost() {
    synchronized (lease.grant()) {
      if (lost == null) {
        lost = new LossSignal(lease.engine().notifier);
        LeaseLostException loss = lease.loss();
        if (loss != null) {
          lost.tell(loss);
        }
      }
      return lost;
    }
  }

  Subscription onEvent(Consumer<? super LockEvent> listener) {
    Notifier.ListenerCalls calls = lease.engine().notifier.calls(listener, this::removeSink);
    addSink(calls);
    lease.engine().notifier.flush();
    return calls;
  }

  /** The sink gets the lease's events from now on, and at once a loss or risk that exists. */
  void addSink(Notifier.Sink sink) {
    synchronized (lease.grant()) {
      LeaseLostException loss = lease.loss();
      LockException risk = lease.risk();
      if (loss != null) {
        sink.note(new Events.Lost(lease.source(), loss, lease.heldFor()));
        return;
      }
      if (sinks == null) {
        sinks = new ArrayList<>(1);
      }
      sinks.add(sink);
      if (risk != null) {
        sink.note(new Events.AtRisk(lease.source(), lease.left(), risk));
      }
    }
  }

  private void removeSink(Notifier.Sink sink) {
    synchronized (lease.grant()) {
      if (sinks != null) {
        sinks.remove(sink);
      }
    }
  }

  /** At most one; called at once if the lease has been lost already. */
  void onLoss(Consumer<LeaseLostException> action) {
    LeaseLostException already;
    synchronized (lease.grant()) {
      onLoss = action;
      already = lease.loss();
    }
    if (already != null) {
      action.accept(already);
    }
  }

  /** Runs what the client does on a loss. Not under the monitor: it may end other leases. */
  void runOnLoss(LeaseLostException why) {
    Consumer<LeaseLostException> action;
    synchronized (lease.grant()) {
      action = onLoss;
    }
    if (action != null) {
      action.accept(why);
    }
  }

  // --- what they are told: called under the monitor ---------------------------------------------

  private boolean isWatched() {
    return (sinks != null && !sinks.isEmpty()) || lease.engine().notifier.hasListeners();
  }

  /** Reports the beginning to listeners, unless the acquisition has ended for them. */
  void noteAcquired(Duration waited, boolean handedOff) {
    if (lease.engine().notifier.hasListeners()) {
      Acquisition acquisition = lease.request().acquisition();
      synchronized (acquisition) {
        if (acquisition.ends()) {
          note(new Events.Acquired(lease.source(), waited, handedOff));
        }
      }
    }
  }

  void noteRenewed() {
    if (isWatched()) {
      note(new Events.Renewed(lease.source(), lease.left()));
    }
  }

  void noteRenewalFailed(LockException problem) {
    if (isWatched()) {
      note(new Events.RenewalFailed(lease.source(), lease.left(), problem));
    }
  }

  void noteReleased(ReleaseOutcome outcome) {
    if (isWatched()) {
      note(new Events.Released(lease.source(), outcome, lease.heldFor()));
    }
  }

  /** A lease that its program has released is only logged. */
  void noteAtRisk(LockException why) {
    LockEvent risk = new Events.AtRisk(lease.source(), lease.left(), why);
    if (!lease.isEnded()) {
      note(risk);
    }
    lease.engine().leaseLog.note(risk);
  }

  /** A lease that its program has released is only logged. */
  void noteLost(LeaseLostException why) {
    LockEvent loss = new Events.Lost(lease.source(), why, lease.heldFor());
    if (!lease.isEnded()) {
      if (lost != null) {
        lost.note(why);
      }
      note(loss);
    }
    lease.engine().leaseLog.note(loss);
  }

  private void note(LockEvent event) {
    assert Thread.holdsLock(lease.grant());
    if (sinks != null) {
      sinks.forEach(sink -> sink.note(event));
    }
    lease.engine().notifier.noteAll(event);
  }
}
