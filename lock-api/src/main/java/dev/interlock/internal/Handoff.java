package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LockKind;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Passes the grant of a lease that is being released to the next thread of this client, without a
 * request to the store (FAIR-01).
 */
final class Handoff {

  private final LeaseState lease;
  private final HeldGrant grant;
  private final LocalQueue queue;
  private final @Nullable Contender headContender;

  /** The waiter that gets the lease; null if the head gets it. */
  private LocalQueue.@Nullable Waiter next;

  /** The lease that is handed over; null if nobody takes it. */
  private @Nullable LeaseState nextLease;

  private Handoff(LeaseState lease) {
    this.lease = lease;
    this.grant = lease.grant();
    this.queue = grant.holdings().queues.of(grant.name());
    this.headContender = queue.contender();
  }

  /** Passes the grant to the next thread; false if there is none. */
  static boolean tryHandOff(LeaseState lease) {
    HeldGrant grant = lease.grant();
    Handoff handoff = null;
    try {
      if (grant.isWhole()) {
        if (grant.holdings().queues.of(grant.name()).mayHaveWaiters()) {
          handoff = new Handoff(lease);
          handoff.passToNext();
        }
      } else if (lease.request().share().kind() == LockKind.SEMAPHORE) {
        handoff = new Handoff(lease);
        handoff.passPermits();
      }
    } catch (Throwable e) {
      // A failure here must not prevent the release.
      Engine.log.trace("the search for a waiter to hand off to failed", e);
    }
    return handoff != null && handoff.publish();
  }

  private void passToNext() {
    boolean fifo = isFifo();
    synchronized (grant) {
      if (grant.mayHandOff(lease)) {
        takeNext(waiter -> !fifo || isEarlier(waiter), this::handOff);
      }
    }
  }

  /**
   * Passes permits to a local waiter that wants the same number: to the head of the queue if it
   * pauses; or, while the head asks the store for that number, to the waiter behind it, which would
   * otherwise wait for that answer. From its second request on, at most eight permits overtake a
   * head; none do if it waits in the store's own queue.
   */
  private void passPermits() {
    Contender contender = headContender;
    if (contender == null) {
      return;
    }
    synchronized (grant) {
      if (grant.mayHandOff(lease)) {
        nextLease = contender.offer(wanted -> grant.fits(wanted) ? handOff(wanted) : null);
        if (nextLease == null && !isFifo()) {
          takeNext(waiter -> contender.canUse(grant) && contender.tryOvertake(), this::handOff);
        }
      }
    }
  }

  /** Takes the first waiter from the queue, if it may be next and a lease can be made for it. */
  private void takeNext(
      Predicate<LocalQueue.Waiter> mayBeNext, Function<Request, @Nullable LeaseState> maker) {
    next =
        queue.takeNext(
            waiter -> {
              boolean fits = grant.fits(waiter.request()) && mayBeNext.test(waiter);
              nextLease = fits ? maker.apply(waiter.request()) : null;
              return nextLease != null;
            });
  }

  private boolean isFifo() {
    return lease.engine().backend.has(Capability.FIFO);
  }

  /** Admits only waiters that entered the queue before the grant, if the store serves in order. */
  private boolean isEarlier(LocalQueue.Waiter waiter) {
    return waiter.enteredAt() - grant.grantedAt() <= 0;
  }

  private @Nullable LeaseState handOff(Request wanted) {
    return grant.handOff(lease, wanted);
  }

  private boolean publish() {
    LeaseState handedOff = nextLease;
    if (handedOff == null) {
      return false;
    }
    try {
      grant.publish();
    } finally {
      if (next != null) {
        next.onHandoff(handedOff);
      } else if (headContender != null) {
        headContender.wake();
      }
    }
    return true;
  }

  /**
   * Admits the readers that waited in the local queue when a reader's lease was granted, with
   * leases of the same grant. Called once, by the head of the queue.
   */
  static void admitReaders(LeaseState lease) {
    if (lease.request().share().kind() == LockKind.READ_WRITE) {
      Handoff admission = new Handoff(lease);
      while (admission.admitsNext()) {
        // The next waiter may fit as well.
      }
    }
  }

  private boolean admitsNext() {
    synchronized (grant) {
      takeNext(this::isEarlier, wanted -> grant.admit(lease, wanted));
    }
    LeaseState admitted = nextLease;
    if (next == null || admitted == null) {
      return false;
    }
    try {
      grant.publish();
    } catch (Throwable e) {
      Timer.logFailure("starting a lease", e);
    }
    if (lease.engine().isClosed()) {
      Release.releaseUnused(admitted, null);
      next.onClose();
    } else {
      next.onHandoff(admitted);
    }
    return true;
  }
}
