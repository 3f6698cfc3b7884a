package dev.interlock;

import java.util.List;

/**
 * A lock over several names, acquired all or nothing; see {@link LockClient#multiLock}.
 *
 * <p>The names are acquired one after the other, in the order of their code points, so two
 * overlapping sets never deadlock. The client renews the names that it holds while it waits for the
 * next, and renews all of them once more before it returns the lease. If a name is lost before all
 * are held, the client releases the others and starts over. If no time remains for that, it throws
 * {@link LockUnavailableException}.
 *
 * <p>{@code tryAcquire()} requests all names within one request time-out. {@code
 * tryAcquire(Duration)} requests no name once its time and 250 ms have passed. If the store is too
 * slow for that, they throw {@link LockUnavailableException}. A renewal without an answer may add
 * one request time-out to either, and the release of the names already held may add another.
 */
public interface MultiLock extends Acquirable<MultiLease> {

  /**
   * Returns the names, without duplicates, in the order in which they are acquired.
   *
   * @return an unmodifiable list
   */
  List<String> names();
}
