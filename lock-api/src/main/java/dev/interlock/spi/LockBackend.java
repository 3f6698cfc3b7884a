package dev.interlock.spi;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A store of locks, as one client sees it. The engine calls it from many threads at once, and does
 * the waiting, renewing and bookkeeping; a backend only speaks to the store.
 *
 * <p>What holds for every method that takes a {@link Deadline}: it blocks until then at most, give
 * or take the store's own coarseness, and it throws
 *
 * <ul>
 *   <li>{@link dev.interlock.LockUnavailableException} if the store did not answer in time or
 *       cannot serve at the moment; what was asked may or may not have happened;
 *   <li>{@link dev.interlock.LockConfigurationException} if it will never work as things are set
 *       up: wrong password, no permission, a foreign entry under the lock's key;
 *   <li>{@link InterruptedException} if the thread was interrupted meanwhile; what was asked may or
 *       may not have happened. A backend whose driver ignores interrupts need not notice them.
 * </ul>
 *
 * <p>An interrupt of one call must never break another caller's. Any other exception from a backend
 * is a bug in it; the engine treats it as a failure in doubt.
 */
public interface LockBackend extends AutoCloseable {

  /**
   * Describes the backend.
   *
   * @return always the same description
   */
  BackendInfo info();

  /**
   * Says where the store is, without any password, for messages.
   *
   * @return the address or addresses
   */
  String endpoint();

  /**
   * Tries once to get a lock, without waiting for its holder. If the answer is busy, nothing of the
   * attempt remains on the store; if it fails, the engine will {@link #release} the claim until
   * that is certain.
   *
   * <p>Unless this is a {@link QueueingBackend}, the engine goes on releasing for a while after
   * that, as the request may arrive after its release; and it does not release at all if the store
   * has refused the attempt.
   *
   * @param claim the identity of this attempt
   * @param deadline when to give up
   * @return granted or busy
   * @throws InterruptedException see above
   */
  Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException;

  /**
   * Extends a grant by its claim's TTL from now, if the store still has it for this claim, and
   * never brings it back if not.
   *
   * @param grant what to renew
   * @param deadline when to give up
   * @return how it ended; it may throw instead of returning {@link Renewal.Failed}
   * @throws InterruptedException see above
   */
  Renewal renew(Grant grant, Deadline deadline) throws InterruptedException;

  /**
   * Renews many grants at once. The engine renews in the background through this method alone; a
   * backend that can join requests into one overrides it.
   *
   * @param grants what to renew, at most 256
   * @param deadline when to give up on all of them
   * @return the outcome of each, in the same order
   * @throws InterruptedException see above
   */
  default List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
      throws InterruptedException {
    List<Renewal> outcomes = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      outcomes.add(Renewals.guarded(this, grant, deadline));
    }
    return outcomes;
  }

  /**
   * Gives up what the claim holds, and whatever else it left on the store. Also called for attempts
   * whose outcome is not known, and again after a failure, which may be a refusal: what the store
   * refuses now it may permit later.
   *
   * @param claim the identity of the attempt
   * @param deadline when to give up
   * @return whether the store had the lock for this claim; false if it was gone, or somebody
   *     else's, or never granted
   * @throws InterruptedException see above
   */
  boolean release(Claim claim, Deadline deadline) throws InterruptedException;

  /**
   * Asks the store to signal when a lock may have become free. Signals are hints: one too many does
   * no harm, and one that is lost is made up for by looking again. Signal once when the watch is in
   * place, so that a release before that is seen. Must not block on the store.
   *
   * <p>By default there are no signals, and waiters look again at the times that {@link
   * Attempt.Busy} says.
   *
   * @param name the lock's name
   * @param wakeUp to be signalled on a release, and whenever signals may have been missed
   * @return ends the watch when closed, without blocking on the store
   */
  default Watch watch(String name, WakeUp wakeUp) {
    return () -> {};
  }

  /**
   * Asks who holds a lock.
   *
   * @param name the lock's name
   * @param deadline when to give up
   * @return what the store says, with the store's own token
   * @throws InterruptedException see above
   */
  LockState inspect(String name, Deadline deadline) throws InterruptedException;

  /**
   * Takes a lock away from whoever holds it, without touching what fencing tokens are made from.
   *
   * @param name the lock's name
   * @param deadline when to give up
   * @return whether somebody held it
   * @throws InterruptedException see above
   */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException;

  /**
   * Makes the holder unable to renew, and keeps everybody out for as long as its lease could still
   * be valid. Only with {@link dev.interlock.Capability#REVOKE}.
   *
   * @param name the lock's name
   * @param deadline when to give up
   * @return whether somebody held it
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
   * one of the pages, whatever else comes and goes meanwhile. The engine drops repetitions. Free
   * locks and foreign entries are left out. A state here may lack the {@linkplain
   * LockState#waiters() waiters}, if the store would have to be asked for each lock's line.
   *
   * <p>The work of one call, and its answer, must be bounded by the limit however many locks the
   * store holds, as far as the store permits that.
   *
   * @param prefix what the names begin with, compared character by character; empty for all names
   * @param cursor null for the first page, then what the page before had as {@link LockPage#next};
   *     means something to this backend alone
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
   * Ends the session on which a claim hangs, as a last resort: the store has refused to {@link
   * #release} the claim for a TTL, and its lock would stay taken for as long as the session lives.
   * The other grants on the session end with it, and have to be reported to {@link
   * BackendContext#lost}. By default there is no session to end, and the engine gives up.
   *
   * <p>Called for grants that do not {@linkplain Grant#expiresOnStore() lapse} and for places in
   * line, and again after each further TTL of refusals. What it throws is logged; the engine then
   * goes on calling {@link #release}.
   *
   * @param claim the identity of the attempt
   * @param refusedFor for how long the store has answered and refused each release; the TTL of a
   *     claim that was never granted may be shorter than what its session lasts
   * @param refusal what the last release ended with
   * @return whether something of the claim may still be on the store; the engine then goes on
   *     calling {@link #release}, and gives up otherwise
   */
  default boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    return false;
  }

  /**
   * Drops what the backend keeps for a claim in this process. By default nothing is kept.
   *
   * <p>The engine calls this once for each claim, when it will ask nothing more about it, even if
   * the lock expired on the store and {@link #release} was never called. It may leave it out when
   * the client is closed. A renewal of the claim may still be under way on another thread.
   *
   * <p>Must neither ask the store nor block: grants end by the thousand, even while the store is
   * down. What it throws is logged.
   *
   * @param claim the identity of the attempt
   */
  default void forget(Claim claim) {}

  /** Disconnects. Called once, when no other call is under way, or none that could be awaited. */
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
