package dev.interlock;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.stream.Stream;

/**
 * Operations on any lock of the store, for operators and diagnostics. Applications do not need them
 * to acquire or release locks. {@link LockClient#admin()} returns them. They work while the client
 * is open.
 */
public interface LockAdmin {

  /**
   * Returns the state of a lock, according to the store. Blocks for at most the request time-out.
   *
   * @param name the lock's name
   * @return the state, with the holders
   * @throws IllegalArgumentException if {@link LockClient#lock(String)} refuses the name
   * @throws LockUnavailableException if the store did not answer
   * @throws LockConfigurationException if the store refused the request, or something else is
   *     stored under the lock's name
   * @throws IllegalStateException if the client is closed
   */
  LockState inspect(String name);

  /**
   * Lists the locks that any client holds and whose names begin with a prefix. For diagnostics.
   *
   * <p>The stream is lazy: it asks the store for one page at a time, as far as it is consumed, and
   * each request takes at most the request time-out. It is not a snapshot: a lock that is acquired
   * or released during the listing may or may not be listed. A lock that stays held is listed once.
   * The {@linkplain LockState#waiters() waiters} may be missing; {@link #inspect(String)} shows
   * them.
   *
   * <p>Listing reads all locks of the store, on some stores all of its keys, so it is not for
   * frequent use. While the stream is consumed it throws the exceptions of {@link
   * #inspect(String)}, also if the store refuses to show this client some of the locks.
   *
   * @param prefix the prefix, compared character by character; empty for all locks
   * @return the held locks, in no particular order
   * @throws IllegalArgumentException if no name can begin with the prefix: it is too long, or not
   *     well-formed Unicode
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#LIST}
   * @throws IllegalStateException if the client is closed
   */
  Stream<LockState> list(String prefix);

  /**
   * Takes a lock away from all its holders at once. <b>This breaks exclusion</b>: a holder
   * considers its lease valid until it learns of the loss or the validity ends. Only its fencing
   * token can then keep its writes out. {@link #revoke(String)} is the safe form. Blocks for at
   * most the request time-out.
   *
   * @param name the lock's name
   * @return whether it was held
   * @throws IllegalArgumentException if {@link LockClient#lock(String)} refuses the name
   * @throws LockUnavailableException if the store did not answer; the lock may or may not be free
   * @throws LockConfigurationException if the store refused the request
   * @throws IllegalStateException if the client is closed
   */
  @CanIgnoreReturnValue
  boolean forceRelease(String name);

  /**
   * Takes a lock away from all its holders, and keeps exclusion: they can no longer renew it, and
   * it stays taken until their leases have certainly ended. Returns without waiting for that end;
   * {@link #inspect(String)} shows the remaining time. Blocks for at most the request time-out.
   *
   * @param name the lock's name
   * @return whether it was held
   * @throws IllegalArgumentException if {@link LockClient#lock(String)} refuses the name
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#REVOKE}
   * @throws LockUnavailableException if the store did not answer; the lock may or may not be
   *     revoked
   * @throws LockConfigurationException if the store refused the request
   * @throws IllegalStateException if the client is closed
   */
  @CanIgnoreReturnValue
  boolean revoke(String name);
}
