package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LockKind;
import org.jspecify.annotations.Nullable;

/**
 * Passes the grant of a lease that is being released on to the thread of this client that is next,
 * without a request to the store (FAIR-01).
 */
final class Handoff {

  private final LeaseState lease;
  private final HeldGrant grant;
  private final LocalQueue queue;

  /** A waiter that was taken from the queue: it gets the lease, or else becomes the head. */
  private LocalQueue.@Nullable Waiter next;

  /** The lease of the one that is next. */
  private @Nullable LeaseState taker;

  Handoff(LeaseState lease) {
    this.lease = lease;
    this.grant = lease.grant();
    this.queue = grant.holdings().queue;
  }

  /** Passes the grant on, and returns whether there was a thread for it. */
  boolean succeeds() {
    return grant.isWhole() ? passToNext() : passPermits();
  }

  /** Makes another waiter the head, after a release on the server. */
  void passHead() {
    if (next == null || !next.onHead()) {
      grant.holdings().pass(grant.name());
    }
  }

  private boolean passToNext() {
    try {
      if (queue.mayBeWaitedFor(grant.name()) && grant.mayHandOff(lease)) {
        boolean fifo = isFifo();
        next = queue.takeNext(grant.name(), waiter -> fits(waiter, grant, fifo));
      }
      taker = next == null ? null : grant.handOff(lease, next.request());
    } catch (Throwable e) {
      // A failure here must not prevent the release.
      Engine.log.trace("nobody to hand off to could be looked for", e);
    }
    return isHandedOver();
  }

  private boolean isHandedOver() {
    LeaseState made = taker;
    if (next == null || made == null) {
      return false;
    }
    try {
      grant.publish();
    } finally {
      next.onHandoff(made);
    }
    return true;
  }

  private boolean isFifo() {
    return lease.engine().backend.has(Capability.FIFO);
  }

  /** On a store that serves in order, only those that came before the grant may have it. */
  private static boolean fits(LocalQueue.Waiter waiter, HeldGrant grant, boolean fifo) {
    return grant.fits(waiter.request()) && (!fifo || waiter.enteredAt() - grant.grantedAt() <= 0);
  }

  /**
   * Passes permits on to a local waiter that wants as many: the head of the queue if it pauses; or,
   * while it asks the store for as many, the waiter behind it, which would wait for that answer
   * otherwise. From its second request on, a head is passed by at most eight permits; by none if it
   * waits in the store's own queue.
   */
  private boolean passPermits() {
    Contender head =
        lease.request().share().kind() == LockKind.SEMAPHORE ? queue.contender(grant.name()) : null;
    if (head == null) {
      return false;
    }
    try {
      synchronized (grant) {
        taker = grant.mayHandOff(lease) ? head.offer(this::leaseFor) : null;
        if (taker == null && grant.mayHandOff(lease) && !isFifo()) {
          next = queue.takeNext(grant.name(), waiter -> overtakes(head, waiter.request()));
        }
      }
    } catch (Throwable e) {
      // A failure here must not prevent the release.
      Engine.log.trace("permits could not be offered", e);
    }
    if (taker == null || next != null) {
      return isHandedOver();
    }
    try {
      grant.publish();
    } finally {
      head.wake();
    }
    return true;
  }

  private @Nullable LeaseState leaseFor(Request request) {
    return grant.fits(request) ? grant.handOff(lease, request) : null;
  }

  private boolean overtakes(Contender head, Request request) {
    if (head.wantsFrom(grant) && grant.fits(request) && head.tryOvertake()) {
      taker = grant.handOff(lease, request);
    }
    return taker != null;
  }

  /**
   * Admits those who waited in the local queue when a reader's lease was granted, and can use the
   * same grant. Called by the head of the queue, once.
   *
   * @return a waiter that was taken from the queue and has to become the head; null if there is
   *     none
   */
  static LocalQueue.@Nullable Waiter admitReaders(LeaseState lease) {
    HeldGrant grant = lease.grant();
    LocalQueue queue = grant.holdings().queue;
    if (lease.request().share().kind() != LockKind.READ_WRITE
        || !queue.mayBeWaitedFor(grant.name())) {
      return null;
    }
    LocalQueue.Waiter next;
    while ((next = queue.takeNext(grant.name(), waiter -> fits(waiter, grant, true))) != null) {
      LeaseState admitted = grant.admit(lease, next.request());
      if (admitted == null) {
        return next;
      }
      try {
        grant.publish();
      } catch (Throwable e) {
        Timer.failed("the beginning of a lease", e);
      }
      if (lease.engine().isClosed()) {
        admitted.giveUp(null);
        next.onClose();
      } else {
        next.onHandoff(admitted);
      }
    }
    return null;
  }
}
