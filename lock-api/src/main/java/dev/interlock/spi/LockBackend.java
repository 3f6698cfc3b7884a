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
 * A store of locks, as one client sees it. The engine calls it from many threads at once, and does
 * the waiting, renewing and bookkeeping; a backend only speaks to the store.
 *
 * <p>Every method that takes a {@link Deadline} blocks until then at most, plus the store's own
 * granularity, and throws
 *
 * <ul>
 *   <li>{@link dev.interlock.LockUnavailableException} if the store did not answer in time or
 *       cannot serve at the moment, or if it refuses the login of a backend that it had let in
 *       before; the request may or may not have taken effect, unless it is {@linkplain
 *       dev.interlock.LockUnavailableException#notSent not sent};
 *   <li>{@link dev.interlock.LockConfigurationException} if the request can never succeed with the
 *       present configuration: a password that was never right, no permission, a foreign entry
 *       under the lock's key;
 *   <li>{@link InterruptedException} if the thread is interrupted; the request may or may not have
 *       taken effect. A backend whose driver ignores interrupts may ignore them, too.
 * </ul>
 *
 * <p>An interrupt of one call must never break the call of another thread. Any other exception is a
 * bug in the backend; the engine then treats the outcome as unknown.
 */
public interface LockBackend extends AutoCloseable {

  /** {@return the description of the backend, always the same} */
  BackendInfo info();

  /** {@return the address or addresses of the store, without any password, for messages} */
  String endpoint();

  /**
   * Tries once to acquire a lock, without waiting for its holder. If the answer is busy, nothing of
   * the attempt remains on the store. If the attempt fails, the engine calls {@link #release} for
   * the claim until nothing remains for certain, unless nothing was sent.
   *
   * <p>Unless this is a {@link QueueingBackend}, the engine repeats the release for a while after
   * that, because the request may arrive after its release, and does not release at all if the
   * store has refused the attempt.
   *
   * @param claim the identity of this attempt
   * @param deadline when to give up
   * @return granted or busy
   * @throws InterruptedException see above
   */
  Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException;

  /**
   * Extends a grant by its claim's TTL from now, if the store still has it for this claim. Never
   * restores a grant that the store no longer has.
   *
   * @param grant what to renew
   * @param deadline when to give up
   * @return the outcome; the method may throw instead of returning {@link Renewal.Failed}
   * @throws InterruptedException see above
   */
  Renewal renew(Grant grant, Deadline deadline) throws InterruptedException;

  /**
   * {@return how many grants the engine may pass to {@link #renewAll} at once, from 1 to 256} More
   * than 1, the default, is for a backend that joins the requests into one. The engine has at most
   * two such calls under way. Those with one grant each it makes on up to 16 threads, so that a
   * request that hangs costs no other lease.
   */
  default int maxGrantsPerRenewal() {
    return 1;
  }

  /**
   * Renews grants. The engine renews in the background through this method only. A backend that can
   * join the requests into one overrides it, and {@link #maxGrantsPerRenewal}.
   *
   * @param grants what to renew, at most {@link #maxGrantsPerRenewal}
   * @param deadline when to give up on all of them
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
   * Releases what the claim holds, and removes everything else that it left on the store. The
   * engine also calls this for attempts whose outcome is not known, and again after a failure, even
   * after a refusal: the store may later permit what it refuses now.
   *
   * @param claim the identity of the attempt
   * @param deadline when to give up
   * @return whether the store had the lock for this claim; false if it was gone, or held by another
   *     claim, or never granted
   * @throws InterruptedException see above
   */
  boolean release(Claim claim, Deadline deadline) throws InterruptedException;

  /**
   * Makes the store release what the claim holds after a time, whatever becomes of this client.
   * Only with {@link dev.interlock.Capability#DEFERRED_RELEASE}.
   *
   * <p>The store counts the time from the moment at which it executes the request. It replaces the
   * rest of the TTL, whether that is shorter or longer, and must not be rounded down. Afterwards
   * the claim can neither renew nor release the hold, so that no late request of the claim changes
   * its end; the store may keep it under the {@linkplain Claim#deferredId() deferred identity}. The
   * hold is otherwise as before: {@link #inspect} shows it, and {@link #forceRelease} and {@link
   * #revoke} act on it. Watches are signalled, because waiters have planned to ask again at the end
   * of the TTL.
   *
   * <p>If this throws, the engine keeps the lock itself, and {@linkplain #release releases} the
   * claim when the time has passed.
   *
   * @param claim the identity of the attempt
   * @param delay after which time the lock is to be free; positive
   * @param deadline when to give up
   * @return whether the store had the lock for this claim, and it was not revoked; if false,
   *     nothing has changed
   * @throws InterruptedException see above
   */
  default boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    throw new UnsupportedOperationException(info().name() + " cannot release a lock later");
  }

  /**
   * Asks the store to signal when a lock may have become free. Signals are hints: an extra one does
   * no harm, and polling makes up for a lost one. The backend signals once when the watch is in
   * place, so that waiters notice an earlier release. After a failed attempt, the client pauses
   * whatever the signals. Must not block on the store.
   *
   * <p>By default there are no signals, and waiters poll at the times that {@link Attempt.Busy}
   * gives.
   *
   * @param name the lock's name
   * @param wakeUp the backend signals it on a release, and whenever signals may have been missed
   * @return the watch; closing it ends the signals, without blocking on the store
   */
  default Watch watch(String name, WakeUp wakeUp) {
    return () -> {};
  }

  /**
   * Returns who holds a lock.
   *
   * @param name the lock's name
   * @param deadline when to give up
   * @return the state, with the store's own token
   * @throws InterruptedException see above
   */
  LockState inspect(String name, Deadline deadline) throws InterruptedException;

  /**
   * Takes a lock away from its holder, without touching the source of fencing tokens.
   *
   * @param name the lock's name
   * @param deadline when to give up
   * @return whether the lock was held
   * @throws InterruptedException see above
   */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException;

  /**
   * Makes the holder unable to renew, and grants the lock to no other claim for as long as the
   * holder's lease could still be valid. Only with {@link dev.interlock.Capability#REVOKE}.
   *
   * @param name the lock's name
   * @param deadline when to give up
   * @return whether the lock was held
   * @throws InterruptedException see above
   */
  default boolean revoke(String name, Deadline deadline) throws InterruptedException {
    throw new UnsupportedOperationException(
        info().name() + " cannot revoke a lock; force its release, or wait for its TTL");
  }

  /**
   * Lists held locks, one bounded part at a time. Only with {@link dev.interlock.Capability#LIST}.
   *
   * <p>A lock that is held from before the first call until after the last one must be on at least
   * one of the pages, whatever other locks come and go. The engine drops duplicates. Leave out free
   * locks and foreign entries. A state here may lack the {@linkplain LockState#waiters() waiters},
   * if they would take a request for each lock.
   *
   * <p>The work of one call, and its answer, must be bounded by the limit however many locks the
   * store holds, as far as the store permits that.
   *
   * @param prefix what the names begin with, compared character by character; empty for all names
   * @param cursor null for the first page, then {@link LockPage#next} of the previous page; only
   *     this backend interprets it
   * @param limit about how many locks to answer with, or how many entries to look at, at least 1
   * @param deadline when to give up on this page
   * @return the page
   * @throws InterruptedException see above
   */
  default LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    throw new UnsupportedOperationException(info().name() + " cannot list locks; inspect a name");
  }

  /**
   * Ends the session of a claim, as a last resort: the store has refused to {@link #release} the
   * claim for a TTL, and its lock would stay taken as long as the session lives. The other grants
   * of the session end with it; the backend must report them to {@link BackendContext#reportLoss}.
   * By default there is no session to end, and the engine gives up.
   *
   * <p>Called for grants that do not {@linkplain Grant#expiresOnStore() expire on the store} and
   * for places in the queue, and again after each further TTL of refusals. The engine logs what it
   * throws, and then continues to call {@link #release}.
   *
   * @param claim the identity of the attempt
   * @param refusedFor how long the store has answered and refused each release; a claim that was
   *     never granted may have a shorter TTL than its session
   * @param refusal how the last release ended
   * @return whether something of the claim may still be on the store; the engine then continues to
   *     call {@link #release}, and gives up otherwise
   */
  default boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    return false;
  }

  /**
   * Drops what the backend keeps for a claim in this process. By default it keeps nothing.
   *
   * <p>The engine calls this once for each claim, after its last request about it, even if the lock
   * expired on the store and {@link #release} was never called. It need not call this when the
   * client is closed. A renewal of the claim may still be under way on another thread.
   *
   * <p>Must neither ask the store nor block: thousands of grants may end at once, even while the
   * store is down. The engine logs what it throws.
   *
   * @param claim the identity of the attempt
   */
  default void forget(Claim claim) {}

  /** Disconnects. Called once, after all other calls have ended or had their time to end. */
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
