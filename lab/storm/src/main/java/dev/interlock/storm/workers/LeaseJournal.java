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
 * Records one client's leases so that none seems to be held for longer than it was: see {@link
 * Event} on which clock is read when. Thread-safe.
 */
final class LeaseJournal {
  private static final Duration BLOCK = Duration.ofSeconds(3);

  private final String client;
  private final Journal journal;
  private final boolean blocked;
  private final AtomicLong leases = new AtomicLong();
  private volatile boolean slow;
  private final AtomicLong longestTtl = new AtomicLong();

  /**
   * Records what one client does.
   *
   * @param blocked whether each loss meets listeners that block before ours
   */
  LeaseJournal(String client, Journal journal, boolean blocked) {
    this.client = client;
    this.journal = journal;
    this.blocked = blocked;
  }

  /** Sets whether the last answer was late. */
  void answered(boolean late) {
    slow = late;
  }

  /** Whether the last answer to the client was late. */
  boolean isSlow() {
    return slow;
  }

  /** Records a lease; call it as soon as the acquisition has returned. */
  Recorded granted(Lease lease, Share share, long requestedAt) {
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
    if (longestTtl.getAndAccumulate(ttl, Math::max) < ttl) {
      journal.record(new Entry.EffectiveTtl(ttl));
    }
    Recorded recorded = new Recorded(this, id);
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
            recorded.extend(lease);
          } else if (event instanceof LockEvent.Lost lost) {
            recorded.lossReported(String.valueOf(lost.loss().reason()));
          }
        });
    return recorded;
  }

  private static void block() {
    long until = System.nanoTime() + BLOCK.toNanos();
    while (System.nanoTime() - until < 0) {
      LockSupport.parkNanos(BLOCK.toNanos());
    }
  }

  /** The token, or 0 where the backend has none. */
  static long tokenOf(Lease lease) {
    try {
      return lease.fencingToken();
    } catch (UnsupportedOperationException e) {
      return 0;
    }
  }

  /** The identity under which a lease was recorded. */
  record Recorded(LeaseJournal recorder, String id) {

    /** Records until when the lease is valid now. */
    void extend(Lease lease) {
      long now = System.nanoTime();
      Duration left = lease.remainingValidity();
      if (!left.isZero()) {
        recorder.journal.record(new Event.Extended(id, now, now + left.toNanos()));
      }
    }

    private void lossReported(String reason) {
      long now = System.nanoTime();
      recorder.journal.record(new Entry.LossReported(id, now, reason));
      recorder.journal.record(new Event.Ended(id, now));
    }

    void abandoned() {
      recorder.journal.record(new Entry.Abandoned(id));
    }

    void renewed(Lease lease) {
      recorder.journal.record(new Entry.Renewed(id));
      extend(lease);
    }

    /** Releases the lease, and records the outcome. */
    ReleaseOutcome release(Lease lease) {
      recorder.journal.record(new Event.Ended(id, System.nanoTime()));
      ReleaseOutcome outcome = lease.release();
      recorder.journal.record(new Entry.Released(id, outcome.name()));
      return outcome;
    }

    /** Requires that a lease that is neither held nor released is reported as lost. */
    void assertReported(Lease lease, Duration bound) {
      long unheldAt = System.nanoTime();
      RunningTime time = new RunningTime();
      while (!lease.onLoss().isDone()) {
        if (!time.isWithin(bound)) {
          recorder.journal.record(new Entry.LossNotReported(id, unheldAt));
          return;
        }
        LockSupport.parkNanos(2_000_000);
      }
    }
  }
}
