package dev.interlock.storm.workers;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.process.Journal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Records one client's leases. No lease seems to be held for longer than it was, because of the
 * order in which clocks are read; see {@link Event}. Thread-safe.
 */
final class LeaseJournal {
  private static final Duration BLOCK_TIME = Duration.ofSeconds(3);

  private final String client;
  private final Journal journal;
  private final boolean blocked;
  private final AtomicLong leases = new AtomicLong();
  private volatile boolean lastAnswerLate;
  private final AtomicLong maxTtl = new AtomicLong();

  /**
   * Creates the journal of one client.
   *
   * @param blocked whether listeners that block are registered before the one that records losses
   */
  LeaseJournal(String client, Journal journal, boolean blocked) {
    this.client = client;
    this.journal = journal;
    this.blocked = blocked;
  }

  void setLastAnswerLate(boolean late) {
    lastAnswerLate = late;
  }

  boolean wasLastAnswerLate() {
    return lastAnswerLate;
  }

  /** Records a lease. Must be called as soon as the acquisition has returned. */
  RecordedLease recordGrant(Lease lease, Share share, long requestedAt) {
    String id = client + "/" + leases.incrementAndGet();
    long now = System.nanoTime();
    long validUntil = now + lease.remainingValidity().toNanos();
    journal.record(
        new Event.Granted(
            id,
            lease.name(),
            tokenOf(lease),
            client + " " + Thread.currentThread().getName(),
            requestedAt,
            now,
            validUntil,
            share.weight(),
            share.capacity()));
    long ttl = lease.effectiveTtl().toNanos();
    if (maxTtl.getAndAccumulate(ttl, Math::max) < ttl) {
      journal.record(new Entry.EffectiveTtl(ttl));
    }
    RecordedLease recorded = new RecordedLease(this, id);
    if (blocked) {
      lease.onEvent(
          event -> {
            if (event instanceof LockEvent.Lost) {
              block();
            }
          });
      var unused = lease.onLoss().thenRun(LeaseJournal::block);
    }
    lease.onEvent(
        event -> {
          if (event instanceof LockEvent.Renewed) {
            recorded.recordValidity(lease);
          } else if (event instanceof LockEvent.Lost lost) {
            recorded.recordLoss(String.valueOf(lost.loss().reason()));
          }
        });
    return recorded;
  }

  private static void block() {
    long until = System.nanoTime() + BLOCK_TIME.toNanos();
    while (System.nanoTime() - until < 0) {
      LockSupport.parkNanos(BLOCK_TIME.toNanos());
    }
  }

  /** {@return the token, or 0 if the backend has none} */
  static long tokenOf(Lease lease) {
    try {
      return lease.fencingToken();
    } catch (UnsupportedOperationException e) {
      return 0;
    }
  }

  /** A lease under the identity that the journal gave it. */
  record RecordedLease(LeaseJournal leaseJournal, String id) {

    /** Records how long the lease is now valid. */
    void recordValidity(Lease lease) {
      long now = System.nanoTime();
      Duration remaining = lease.remainingValidity();
      if (!remaining.isZero()) {
        leaseJournal.journal.record(new Event.Extended(id, now, now + remaining.toNanos()));
      }
    }

    private void recordLoss(String reason) {
      long now = System.nanoTime();
      leaseJournal.journal.record(new Entry.LossReported(id, now, reason));
      leaseJournal.journal.record(new Event.Ended(id, now));
    }

    void recordAbandonment() {
      leaseJournal.journal.record(new Entry.Abandoned(id));
    }

    void recordRenewal(Lease lease) {
      leaseJournal.journal.record(new Entry.Renewed(id));
      recordValidity(lease);
    }

    /** Releases the lease, and records the outcome. */
    ReleaseOutcome release(Lease lease) {
      leaseJournal.journal.record(new Event.Ended(id, System.nanoTime()));
      ReleaseOutcome outcome = lease.release();
      leaseJournal.journal.record(new Entry.Released(id, outcome.name()));
      return outcome;
    }

    /** Waits until the lease is reported as lost, or records that it was not within the bound. */
    void awaitLossReport(Lease lease, Duration bound) {
      long unheldAt = System.nanoTime();
      RunningTime time = new RunningTime();
      while (!lease.onLoss().isDone()) {
        if (!time.isWithin(bound)) {
          leaseJournal.journal.record(new Entry.LossNotReported(id, unheldAt));
          return;
        }
        LockSupport.parkNanos(2_000_000);
      }
    }
  }
}
