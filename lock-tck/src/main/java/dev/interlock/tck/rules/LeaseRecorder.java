package dev.interlock.tck.rules;

import dev.interlock.Lease;
import dev.interlock.tck.history.Event;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Records leases for the history checker so that none seems to be held for longer than it was: see
 * {@link Event} on which clock is read when.
 */
final class LeaseRecorder {
  private final String process;
  private final boolean fenced;
  private final Consumer<Event> sink;
  private final AtomicLong leases = new AtomicLong();

  LeaseRecorder(String process, boolean fenced, Consumer<Event> sink) {
    this.process = process;
    this.fenced = fenced;
    this.sink = sink;
  }

  /** The identity under which a lease was recorded. */
  record Recorded(LeaseRecorder recorder, String id) {
    /** To be called before the lease is released. */
    void ends() {
      recorder.sink.accept(new Event.Ended(id, System.nanoTime()));
    }

    /** To be called now and then while the lease is used. */
    void extend(Lease lease) {
      long now = System.nanoTime();
      recorder.sink.accept(new Event.Extended(id, now, now + lease.remainingValidity().toNanos()));
    }
  }

  /** To be called when an acquisition has returned. */
  Recorded granted(Lease lease, long requestedAt) {
    String id = process + "/" + leases.incrementAndGet();
    long now = System.nanoTime();
    long validUntil = now + lease.remainingValidity().toNanos();
    sink.accept(
        new Event.Granted(
            id,
            lease.name(),
            fenced ? lease.fencingToken() : 0,
            process + " " + Thread.currentThread().getName(),
            requestedAt,
            now,
            validUntil));
    return new Recorded(this, id);
  }
}
