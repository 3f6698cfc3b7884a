package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.Registration;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The observers of a lease or of a set of leases. Events are recorded under the monitor that guards
 * the change they report, so that listeners get them in the order in which they happened. The next
 * {@link Notifier#flush} delivers them.
 */
final class Observers {

  /** The lease or set that is observed. Its methods are called under its monitor. */
  interface Subject {
    Events.Source source();

    Duration remaining();

    Duration heldFor();

    /** Returns the loss; null if the subject was not lost. */
    @Nullable LeaseLostException loss();

    /** Returns the reason why the subject is at risk; null if it is not, or is no longer held. */
    @Nullable LockException risk();
  }

  private final Notifier notifier;
  private final Object monitor;
  private final Subject subject;
  private final List<Consumer<? super LockEvent>> sinks = new CopyOnWriteArrayList<>();
  private @Nullable LossSignal lossSignal;

  Observers(Notifier notifier, Object monitor, Subject subject) {
    this.notifier = notifier;
    this.monitor = monitor;
    this.subject = subject;
  }

  CompletableFuture<LeaseLostException> onLoss() {
    synchronized (monitor) {
      if (lossSignal == null) {
        lossSignal = new LossSignal(notifier);
        LeaseLostException loss = subject.loss();
        if (loss != null) {
          lossSignal.signal(loss);
        }
      }
      return lossSignal;
    }
  }

  Registration onEvent(Consumer<? super LockEvent> listener) {
    Notifier.ListenerCalls calls = notifier.new ListenerCalls(listener, sinks);
    add(calls);
    notifier.flush();
    return calls;
  }

  /**
   * Adds a receiver of the events from now on, which gets an existing loss or risk at once.
   *
   * @param sink called under the monitor, so it must not block
   */
  void add(Consumer<? super LockEvent> sink) {
    synchronized (monitor) {
      sinks.add(sink);
      LeaseLostException loss = subject.loss();
      LockException risk = subject.risk();
      if (loss != null) {
        sink.accept(new Events.Lost(subject.source(), loss, subject.heldFor()));
      } else if (risk != null) {
        sink.accept(new Events.AtRisk(subject.source(), subject.remaining(), risk));
      }
    }
  }

  boolean isEmpty() {
    return sinks.isEmpty();
  }

  // --- called under the monitor -----------------------------------------------------------------

  void report(LockEvent event) {
    assert Thread.holdsLock(monitor);
    sinks.forEach(sink -> sink.accept(event));
  }

  void signalLoss(LeaseLostException why) {
    if (lossSignal != null) {
      lossSignal.enqueue(why);
    }
  }
}
