package dev.interlock.tck.rules;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.run.NotOfferedException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Records leases for the history checker. It never records a lease as held for longer than it was;
 * {@link Event} describes the order in which it reads the times.
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

  record Recorded(LeaseRecorder recorder, String id) {
    /** Records the end of the lease; to be called before its release. */
    void end() {
      recorder.sink.accept(new Event.Ended(id, System.nanoTime()));
    }

    /** Records the current validity; to be called repeatedly while the lease is used. */
    void extend(Lease lease) {
      long now = System.nanoTime();
      recorder.sink.accept(new Event.Extended(id, now, validUntil(lease, now)));
    }
  }

  /** Works under an exclusive lock, and records its lease. */
  void holding(Acquirable<Lease> lock, RuleTest.Work work) throws Exception {
    holding(lock, 1, 1, work);
  }

  /** Works under a share of a name, and records its lease. */
  void holding(Acquirable<Lease> lock, int weight, int capacity, RuleTest.Work work)
      throws Exception {
    long requestedAt = System.nanoTime();
    try (Lease lease = lock.acquire()) {
      Recorded recorded = granted(lease, requestedAt, weight, capacity);
      work.run();
      recorded.end();
    }
  }

  /** Records the grant of an exclusive lock; to be called after the acquisition. */
  Recorded granted(Lease lease, long requestedAt) {
    return granted(lease, requestedAt, 1, 1);
  }

  /** Records the grant of a share of a name; to be called after the acquisition. */
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
   * {@return the end of the validity} For the holder of a lock without validity, the lease lasts
   * until its release.
   */
  private static long validUntil(Lease lease, long now) {
    try {
      return now + lease.remainingValidity().toNanos();
    } catch (NotOfferedException e) {
      return Long.MAX_VALUE;
    }
  }
}
