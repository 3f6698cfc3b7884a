package dev.interlock.tck.rules;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.run.NotOfferedException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Records leases for the history checker. No lease is recorded as held for longer than it was; see
 * {@link Event} for the order in which times are read.
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

  /** A recorded lease. */
  record Recorded(LeaseRecorder recorder, String id) {
    /** Records the end. Call it before the lease is released. */
    void ends() {
      recorder.sink.accept(new Event.Ended(id, System.nanoTime()));
    }

    /** Records the present validity. Call it now and then while the lease is used. */
    void extend(Lease lease) {
      long now = System.nanoTime();
      recorder.sink.accept(new Event.Extended(id, now, validUntil(lease, now)));
    }
  }

  /** Does something with an exclusive lock, and records its lease. */
  void holding(Acquirable<Lease> lock, RuleTest.Work work) throws Exception {
    holding(lock, 1, 1, work);
  }

  /** Does something with some of a name, and records its lease. */
  void holding(Acquirable<Lease> lock, int weight, int capacity, RuleTest.Work work)
      throws Exception {
    long requestedAt = System.nanoTime();
    try (Lease lease = lock.acquire()) {
      Recorded recorded = granted(lease, requestedAt, weight, capacity);
      work.run();
      recorded.ends();
    }
  }

  /** Records the grant of an exclusive lock. Call it when the acquisition has returned. */
  Recorded granted(Lease lease, long requestedAt) {
    return granted(lease, requestedAt, 1, 1);
  }

  /** Records a grant of some of a name. Call it when the acquisition has returned. */
  Recorded granted(Lease lease, long requestedAt, int weight, int capacity) {
    String id = process + "/" + leases.incrementAndGet();
    long now = System.nanoTime();
    sink.accept(
        new Event.Granted(
            id,
            lease.name(),
            fenced ? lease.fencingToken() : 0,
            process + " " + Thread.currentThread().getName(),
            requestedAt,
            now,
            validUntil(lease, now),
            weight,
            capacity));
    return new Recorded(this, id);
  }

  /**
   * {@return when the validity is over, as the holder must see it} A lock that has no notion of
   * validity tells its holder nothing but that it is held until it is released.
   */
  private static long validUntil(Lease lease, long now) {
    try {
      return now + lease.remainingValidity().toNanos();
    } catch (NotOfferedException e) {
      return Long.MAX_VALUE;
    }
  }
}
