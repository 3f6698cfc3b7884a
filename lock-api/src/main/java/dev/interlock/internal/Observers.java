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
 * Who wants to know what becomes of a lease, or of a set of leases. Events are recorded under the
 * monitor that guards the change that they report, so that listeners get them in the order in which
 * they happened. The next {@link Notifier#flush} delivers them.
 */
final class Observers {

  /** What they observe. Called under its monitor. */
  interface Subject {
    Events.Source source();

    /** Returns what is left of the validity. */
    Duration left();

    Duration heldFor();

    /** Returns the loss; null if it has not been lost. */
    @Nullable LeaseLostException loss();

    /** Returns why it is at risk; null if it is not, or is not held any more. */
    @Nullable LockException risk();
  }

  private final Notifier notifier;
  private final Object monitor;
  private final Subject subject;
  private final List<Consumer<? super LockEvent>> sinks = new CopyOnWriteArrayList<>();
  private @Nullable LossSignal lost;

  Observers(Notifier notifier, Object monitor, Subject subject) {
    this.notifier = notifier;
    this.monitor = monitor;
    this.subject = subject;
  }

  /** Returns the future of the loss. */
  CompletableFuture<LeaseLostException> onLoss() {
    synchronized (monitor) {
      if (lost == null) {
        lost = new LossSignal(notifier);
        LeaseLostException loss = subject.loss();
        if (loss != null) {
          lost.tell(loss);
        }
      }
      return lost;
    }
  }

  Registration onEvent(Consumer<? super LockEvent> listener) {
    Notifier.ListenerCalls calls = notifier.new ListenerCalls(listener, sinks);
    add(calls);
    notifier.flush();
    return calls;
  }

  /**
   * Adds who gets the events from now on, and at once a loss or risk that exists.
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
        sink.accept(new Events.AtRisk(subject.source(), subject.left(), risk));
      }
    }
  }

  boolean isEmpty() {
    return sinks.isEmpty();
  }

  // --- called under the monitor -----------------------------------------------------------------

  void note(LockEvent event) {
    assert Thread.holdsLock(monitor);
    sinks.forEach(sink -> sink.accept(event));
  }

  void signalLoss(LeaseLostException why) {
    if (lost != null) {
      lost.note(why);
    }
  }
}
