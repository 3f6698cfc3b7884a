package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Releases in the background what may remain on the store: attempts with an unknown outcome, grants
 * that arrived too late, and unconfirmed releases. Each release is repeated until the store
 * confirms it or the lock has expired. If locks do not expire and the store has refused for a TTL,
 * the session is ended (REL-02).
 *
 * <p>For an attempt with an unknown outcome, "not there" is no confirmation: the request may be
 * delayed in the network and granted after the attempt was undone. So the release is repeated, with
 * growing pauses, for one request time-out after that answer. A request that is delayed for even
 * longer ends with its TTL.
 */
final class Cleanup {

  private static final Logger log = LoggerFactory.getLogger(Cleanup.class);

  private final Engine engine;
  private final Set<Task> pending = ConcurrentHashMap.newKeySet();

  private volatile boolean finished;

  Cleanup(Engine engine) {
    this.engine = engine;
  }

  /** Releases a grant; if the store does not confirm that, goes on in the background. */
  ReleaseOutcome release(Grant grant, Deadline deadline) {
    ReleaseOutcome outcome = deadline.hasPassed() ? null : tryRelease(grant, null, deadline);
    if (outcome == null || outcome == ReleaseOutcome.UNKNOWN) {
      undo(grant);
      return ReleaseOutcome.UNKNOWN;
    }
    return outcome;
  }

  /**
   * Asks the store once to release a grant.
   *
   * @param delay after which the store is to release it by itself; null for now
   * @return null if the request was not sent
   */
  @Nullable ReleaseOutcome tryRelease(Grant grant, @Nullable Duration delay, Deadline deadline) {
    // An interrupted thread must still be able to release; its interrupt status is restored later.
    boolean interrupted = Thread.interrupted();
    try {
      boolean existed =
          delay == null
              ? engine.store.release(grant.claim(), deadline)
              : engine.store.releaseAfter(grant.claim(), delay, deadline);
      forget(grant.claim());
      if (!existed) {
        return ReleaseOutcome.ALREADY_LOST;
      }
      return delay == null ? ReleaseOutcome.RELEASED : ReleaseOutcome.DEFERRED;
    } catch (LockException e) {
      log.debug("the store did not confirm the release of {}", grant.claim(), e);
      if (e instanceof LockUnavailableException problem && !problem.isInDoubt()) {
        return null;
      }
    } catch (InterruptedException e) {
      interrupted = true;
    } catch (Throwable e) {
      // A lack of stack or memory must not prevent the release.
      log.error("the backend failed to release {}", grant.claim(), e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    return ReleaseOutcome.UNKNOWN;
  }

  void undo(Grant grant) {
    new Task(grant.claim(), grant.effectiveTtl(), grant.expiresOnStore(), false).start();
  }

  /**
   * Undoes an attempt with an unknown outcome. An entry in the store's queue stays until it is
   * removed, and the backend ensures that nothing arrives after its release. On other stores the
   * release is repeated for late requests; a late request that is never found ends with its TTL.
   */
  void undo(Claim claim) {
    boolean expiresOnStore = !(engine.store instanceof QueueingBackend);
    new Task(claim, claim.ttl(), expiresOnStore, expiresOnStore).start();
  }

  /** Tells the backend that nothing of the claim remains on the store. */
  void forget(Claim claim) {
    try {
      engine.store.forget(claim);
    } catch (Throwable e) {
      log.error("the backend failed to forget {}", claim, e);
    }
  }

  /**
   * Returns when a lock has certainly expired: its TTL may have begun as late as the request
   * arrived.
   */
  private Deadline expiryDeadline(Duration ttl) {
    return engine.in(ttl.plus(engine.requestTimeout().multipliedBy(2)));
  }

  int pending() {
    return pending.size();
  }

  /** Tries all pending releases once more on the calling thread, and drops them. */
  void finish(Deadline deadline) {
    finished = true;
    for (Task task : List.copyOf(pending)) {
      if (!deadline.hasPassed()) {
        task.attempt(deadline);
      }
      pending.remove(task);
    }
  }

  private final class Task extends Timer.Event implements Runnable {
    private final Claim claim;
    private final Duration ttl;
    private final boolean expiresOnStore;
    private final Deadline expiry;
    private final Backoff backoff;

    private volatile boolean refusalIsLogged;

    /**
     * The time of the first of the refusals that followed one another without a break; null if the
     * last answer was not a refusal.
     */
    private volatile @Nullable Long refusedSince;

    /** The time at which to end the session if the store goes on refusing. */
    private volatile long endSessionAt;

    /**
     * The time until which a late request may still arrive; null until the store has answered that
     * nothing is there.
     */
    private volatile @Nullable Deadline lateArrivalDeadline;

    Task(Claim claim, Duration ttl, boolean expiresOnStore, boolean mayArriveLate) {
      this.claim = claim;
      this.ttl = ttl;
      this.expiresOnStore = expiresOnStore;
      this.expiry = expiresOnStore ? expiryDeadline(ttl) : Deadline.never(engine.platform);
      this.lateArrivalDeadline = mayArriveLate ? null : engine.in(Duration.ZERO);
      this.backoff = new Backoff(engine.platform, claim.ttl());
    }

    void start() {
      pending.add(this);
      fire(engine.platform.nanoTime());
    }

    @Override
    void fire(long now) {
      try {
        engine.threads.cleanup.execute(this);
      } catch (Throwable e) {
        log.debug("no thread is free to release {}; trying again", claim, e);
        retryLater();
      }
    }

    @Override
    public void run() {
      boolean done = false;
      try {
        done = attempt(engine.requestDeadline());
      } finally {
        if (!done) {
          retryLater();
        }
      }
    }

    private void retryLater() {
      if (finished) {
        // The client is closed, and the lock ends with its TTL.
        pending.remove(this);
      } else {
        engine.timer.schedule(this, engine.platform.nanoTime() + backoff.nextNanos());
      }
    }

    /** Returns whether no further attempt is needed. */
    boolean attempt(Deadline deadline) {
      boolean done = expiry.hasPassed() || releaseOnce(deadline);
      if (done && pending.remove(this)) {
        forget(claim);
      }
      return done;
    }

    private boolean releaseOnce(Deadline deadline) {
      try {
        boolean existed = engine.store.release(claim, deadline);
        log.debug("released {} in the background; the store had it: {}", claim, existed);
        return existed || isLateArrivalRuledOut();
      } catch (LockConfigurationException e) {
        return onRefusal(e);
      } catch (LockUnavailableException e) {
        log.debug("the store could not release {}; trying again", claim, e);
        refusedSince = null;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (Throwable e) {
        log.error("the backend failed to release {} in the background", claim, e);
      }
      return false;
    }

    /** Called when the store does not have the lock. */
    private boolean isLateArrivalRuledOut() {
      Deadline deadline = lateArrivalDeadline;
      if (deadline == null) {
        lateArrivalDeadline = engine.requestDeadline();
        backoff.reset();
        return false;
      }
      return deadline.hasPassed();
    }

    /** Returns whether no further attempt is needed, because nothing can remain. */
    private boolean onRefusal(LockConfigurationException refusal) {
      if (!refusalIsLogged) {
        refusalIsLogged = true;
        engine.leaseLog.write(
            () ->
                log.warn(
                    "the store refuses to release {}; trying again: {}",
                    claim,
                    refusal.getMessage()));
      }
      log.debug("the store refused to release {}", claim, refusal);
      long now = engine.platform.nanoTime();
      Long firstRefusal = refusedSince;
      if (firstRefusal == null) {
        firstRefusal = now;
        refusedSince = now;
        endSessionAt = now + ttl.toNanos();
      }
      if (expiresOnStore || endSessionAt - now > 0) {
        return false;
      }
      endSessionAt = now + ttl.toNanos();
      try {
        return !engine.store.endSession(claim, Duration.ofNanos(now - firstRefusal), refusal);
      } catch (Throwable e) {
        log.error("the backend failed to end the session of {}", claim, e);
        return false;
      }
    }
  }
}
