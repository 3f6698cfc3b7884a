package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LockKind;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Passes the grant of a lease that is being released on to the thread of this client that is next,
 * without a request to the store (FAIR-01).
 */
final class Handoff {

  private final LeaseState lease;
  private final HeldGrant grant;
  private final LocalQueue queue;
  private final @Nullable Contender head;

  /** The waiter that was next; null if it is the head. */
  private LocalQueue.@Nullable Waiter next;

  /** The lease of the one that is next; null if there is none. */
  private @Nullable LeaseState taker;

  private Handoff(LeaseState lease) {
    this.lease = lease;
    this.grant = lease.grant();
    this.queue = grant.holdings().queues.of(grant.name());
    this.head = queue.contender();
  }

  /** Passes the grant on, and returns whether there was a thread for it. */
  static boolean toNext(LeaseState lease) {
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
    return handoff != null && handoff.tell();
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
   * Passes permits on to a local waiter that wants as many: the head of the queue if it pauses; or,
   * while it asks the store for as many, the waiter behind it, which would wait for that answer
   * otherwise. From its second request on, a head is passed by at most eight permits; by none if it
   * waits in the store's own queue.
   */
  private void passPermits() {
    Contender present = head;
    if (present == null) {
      return;
    }
    synchronized (grant) {
      if (grant.mayHandOff(lease)) {
        taker = present.offer(wanted -> grant.fits(wanted) ? handOff(wanted) : null);
        if (taker == null && !isFifo()) {
          takeNext(waiter -> present.wantsFrom(grant) && present.tryOvertake(), this::handOff);
        }
      }
    }
  }

  /** Takes the first waiter from the queue, if it may be next and can be given a lease. */
  private void takeNext(
      Predicate<LocalQueue.Waiter> mayBeNext, Function<Request, @Nullable LeaseState> maker) {
    next =
        queue.takeNext(
            waiter -> {
              boolean fits = grant.fits(waiter.request()) && mayBeNext.test(waiter);
              taker = fits ? maker.apply(waiter.request()) : null;
              return taker != null;
            });
  }

  private boolean isFifo() {
    return lease.engine().backend.has(Capability.FIFO);
  }

  /** Where the store serves in order, only those that came before the grant may have it. */
  private boolean isEarlier(LocalQueue.Waiter waiter) {
    return waiter.enteredAt() - grant.grantedAt() <= 0;
  }

  private @Nullable LeaseState handOff(Request wanted) {
    return grant.handOff(lease, wanted);
  }

  private boolean tell() {
    LeaseState made = taker;
    if (made == null) {
      return false;
    }
    try {
      grant.publish();
    } finally {
      if (next != null) {
        next.onHandoff(made);
      } else if (head != null) {
        head.wake();
      }
    }
    return true;
  }

  /**
   * Admits those who waited in the local queue when a reader's lease was granted, and can use the
   * same grant. Called by the head of the queue, once.
   */
  static void admitReaders(LeaseState lease) {
    if (lease.request().share().kind() == LockKind.READ_WRITE) {
      Handoff admission = new Handoff(lease);
      while (admission.admitsNext()) {
        // The next one may fit as well.
      }
    }
  }

  private boolean admitsNext() {
    synchronized (grant) {
      takeNext(this::isEarlier, wanted -> grant.admit(lease, wanted));
    }
    LeaseState admitted = taker;
    if (next == null || admitted == null) {
      return false;
    }
    try {
      grant.publish();
    } catch (Throwable e) {
      Timer.failed("starting a lease", e);
    }
    if (lease.engine().isClosed()) {
      Release.giveUp(admitted, null);
      next.onClose();
    } else {
      next.onHandoff(admitted);
    }
    return true;
  }
}
