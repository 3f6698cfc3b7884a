package dev.interlock.spi;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The connection of one client to a store of locks. The engine calls it from many threads at once.
 * The engine does the waiting, renewing and bookkeeping; a backend only sends requests to the
 * store.
 *
 * <p>Every method that takes a {@link Deadline} blocks at most until then, plus the store's own
 * granularity, and throws
 *
 * <ul>
 *   <li>{@link dev.interlock.LockUnavailableException} if the store did not answer in time or
 *       cannot serve at the moment, or if it refuses the login of a backend that it had accepted
 *       before; the request may or may not have taken effect, unless it was {@linkplain
 *       dev.interlock.LockUnavailableException#notSent not sent};
 *   <li>{@link dev.interlock.LockConfigurationException} if the request can never succeed with the
 *       current configuration: a password that was never right, no permission, a foreign entry
 *       under the lock's key;
 *   <li>{@link InterruptedException} if the thread is interrupted; the request may or may not have
 *       taken effect. A backend whose driver ignores interrupts may ignore them, too.
 * </ul>
 *
 * <p>An interrupt of one call must never break the call of another thread. Any other exception is a
 * bug in the backend, and the engine treats the outcome as unknown.
 */
public interface LockBackend extends AutoCloseable {

  /** {@return the description of the backend, always the same} */
  BackendInfo info();

  /** {@return the address or addresses of the store, without any password, for messages} */
  String endpoint();

  /**
   * Tries once to acquire a lock, without waiting for its holder. If the answer is busy, nothing of
   * the attempt may remain on the store, except for what {@link Claim#reservation()} describes. If
   * the attempt fails, the engine calls {@link #release} for the claim until certainly nothing
   * remains, unless nothing was sent.
   *
   * <p>Without a queue, two more rules apply. The engine repeats the release for a while, because
   * the request may arrive after its release. It does not release if the store has refused the
   * attempt.
   *
   * @param claim the identity of this attempt
   * @param deadline the deadline
   * @return granted or busy
   * @throws InterruptedException see above
   */
  Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException;

  /**
   * Extends a grant to its claim's TTL from now, if the store still has it for this claim. Never
   * restores a grant that the store no longer has.
   *
   * @param grant the grant
   * @param deadline the deadline
   * @return the outcome; the method may throw instead of returning {@link Renewal.Failed}
   * @throws InterruptedException see above
   */
  Renewal renew(Grant grant, Deadline deadline) throws InterruptedException;

  /**
   * {@return the maximum number of grants that the engine may pass to {@link #renewAll}, from 1 to
   * 256} Default: 1. Return more if the backend joins the requests into one; the engine then makes
   * at most two calls at the same time. Calls with one grant each it makes on up to 16 threads, so
   * that a request that hangs costs no other lease.
   */
  default int maxGrantsPerRenewal() {
    return 1;
  }

  /**
   * Renews several grants. The engine uses only this method to renew in the background. A backend
   * that can join the requests into one overrides it, and {@link #maxGrantsPerRenewal}.
   *
   * @param grants the grants, at most {@link #maxGrantsPerRenewal}
   * @param deadline the deadline for all of them
   * @return the outcome of each, in the same order
   * @throws InterruptedException see above
   */
  default List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
      throws InterruptedException {
    List<Renewal> outcomes = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      try {
        outcomes.add(renew(grant, deadline));
      } catch (LockException e) {
        outcomes.add(new Renewal.Failed(e)); // the others go on
      }
    }
    return outcomes;
  }

  /**
   * Releases the lock if the claim holds it, and removes everything else that the claim left on the
   * store. The engine also calls this for attempts whose outcome is not known. It repeats the call
   * after a failure, even after a refusal, because the store may later permit what it refuses now.
   *
   * @param claim the identity of the attempt
   * @param deadline the deadline
   * @return whether the store had the lock for this claim; false if it was gone, or held by another
   *     claim, or never granted
   * @throws InterruptedException see above
   */
  boolean release(Claim claim, Deadline deadline) throws InterruptedException;

  /**
   * Makes the store release the lock after a delay, even if this client dies. Only with {@link
   * dev.interlock.Capability#DEFERRED_RELEASE}.
   *
   * <p>The store counts the delay from the moment at which it executes the request. The delay
   * replaces the rest of the TTL, whether that is shorter or longer, and must not be rounded down.
   * Afterwards the claim can neither renew nor release the hold, so that no late request of the
   * claim changes its end. The store may keep it under the {@linkplain Claim#deferredId() deferred
   * identity}. The hold is otherwise as before: {@link #inspect} shows it, and {@link
   * #forceRelease} and {@link #revoke} act on it. The backend signals watches, because waiters have
   * planned to ask again at the end of the TTL.
   *
   * <p>If this method throws, the engine keeps the lock itself, and {@linkplain #release releases}
   * the claim after the delay.
   *
   * @param claim the identity of the attempt
   * @param delay the time after which the lock becomes free; positive
   * @param deadline the deadline
   * @return whether the store had the lock for this claim, and it was not revoked; if false,
   *     nothing has changed
   * @throws InterruptedException see above
   */
  default boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    throw new UnsupportedOperationException(info().name() + " cannot defer a release");
  }

  /**
   * Signals a wake-up whenever the lock may have become free. Signals are hints: an extra signal
   * does no harm, and polling makes up for a lost one. The backend signals once when the watch is
   * in place, so that waiters notice an earlier release. After a failed attempt, the client pauses
   * despite signals. Must not block on the store.
   *
   * <p>By default there are no signals, and waiters poll at the times that {@link Attempt.Busy}
   * gives.
   *
   * @param name the lock's name
   * @param wakeUp the wake-up; signalled after a release, and whenever signals may have been missed
   * @return the watch; closing it ends the signals, without blocking on the store
   */
  default Watch watch(String name, WakeUp wakeUp) {
    return () -> {};
  }

  /**
   * Returns the state of a lock.
   *
   * @param name the lock's name
   * @param deadline the deadline
   * @return the state, with the store's own token
   * @throws InterruptedException see above
   */
  LockState inspect(String name, Deadline deadline) throws InterruptedException;

  /**
   * Takes a lock away from its holder, without touching the source of fencing tokens.
   *
   * @param name the lock's name
   * @param deadline the deadline
   * @return whether the lock was held
   * @throws InterruptedException see above
   */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException;

  /**
   * Prevents the holder from renewing, and grants the lock to no other claim while the holder's
   * lease could still be valid. Only with {@link dev.interlock.Capability#REVOKE}.
   *
   * @param name the lock's name
   * @param deadline the deadline
   * @return whether the lock was held
   * @throws InterruptedException see above
   */
  default boolean revoke(String name, Deadline deadline) throws InterruptedException {
    throw new UnsupportedOperationException(
        info().name() + " cannot revoke a lock; force its release, or wait for its TTL");
  }

  /**
   * Lists held locks, one page at a time. Only with {@link dev.interlock.Capability#LIST}.
   *
   * <p>A lock that is held from before the first call until after the last one must be on at least
   * one of the pages, whatever other locks come and go. The engine drops duplicates. Leave out free
   * locks and foreign entries. A state may lack the {@linkplain LockState#waiters() waiters}, if
   * they would take a request for each lock.
   *
   * <p>The limit must bound the work of one call and the size of its answer, however many locks the
   * store holds, as far as the store permits that.
   *
   * @param prefix the prefix of the names, compared character by character; empty for all names
   * @param cursor null for the first page, then {@link LockPage#next} of the previous page; only
   *     this backend interprets it
   * @param limit about the number of locks to return, or of entries to read, at least 1
   * @param deadline the deadline for this page
   * @return the page
   * @throws InterruptedException see above
   */
  default LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    throw new UnsupportedOperationException(
        info().name() + " cannot list locks; inspect a lock by its name");
  }

  /**
   * Ends the session of a claim, as a last resort. The store has refused to {@link #release} the
   * claim for a TTL, and the lock would stay taken for as long as the session lives. The other
   * grants of the session end with it; the backend must report them to {@link
   * BackendContext#reportLoss}. By default there is no session to end, and the engine stops
   * releasing the claim.
   *
   * <p>Called for grants that do not {@linkplain Grant#expiresOnStore() expire on the store} and
   * for places in the queue, and again after each further TTL of refusals. If this method throws,
   * the engine logs that, and continues to call {@link #release}.
   *
   * @param claim the identity of the attempt
   * @param refusedFor how long the store has refused each release; a claim that was never granted
   *     may have a shorter TTL than its session
   * @param refusal the last refusal
   * @return whether something of the claim may still be on the store; if so, the engine continues
   *     to call {@link #release}
   */
  default boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    return false;
  }

  /**
   * Drops everything that the backend keeps for a claim in this process. By default it keeps
   * nothing.
   *
   * <p>The engine calls this once for each claim, after its last request about it, even if the lock
   * expired on the store and {@link #release} was never called. It need not call this when the
   * client is closed. A renewal of the claim may still be in progress on another thread.
   *
   * <p>Must neither ask the store nor block, because thousands of grants may end at once, even
   * while the store is down. The engine logs its exceptions.
   *
   * @param claim the identity of the attempt
   */
  default void forget(Claim claim) {}

  /** Disconnects. Called once, after all other calls have ended or passed their deadlines. */
  @Override
  void close();

  /** A watch on one lock. */
  @FunctionalInterface
  interface Watch extends AutoCloseable {
    /** Ends the watch. Closing again does nothing. */
    @Override
    void close();
  }
}
