package dev.interlock;

import java.util.List;

/**
 * A lock over several names, acquired all or nothing; see {@link LockClient#multiLock}.
 *
 * <p>The names are acquired one after the other, in the order of their code points, so that two
 * overlapping sets never deadlock. Those already held are renewed while the acquisition waits for
 * the next, and all once more before the lease is granted. If one is lost nevertheless before all
 * are held, the others are released and the acquisition starts over; if no time is left for that,
 * it throws {@link LockUnavailableException}.
 *
 * <p>{@code tryAcquire()} requests all names within one request time-out; {@code
 * tryAcquire(Duration)} requests none once its time and 250 ms have passed. If the store is too
 * slow for that, they throw {@link LockUnavailableException}. A renewal without an answer may add
 * one request time-out to either, and giving up the names already held may add another.
 */
public interface MultiLock extends Acquirable<MultiLease> {

  /**
   * Returns the names, without duplicates, in the order in which they are acquired.
   *
   * @return an unmodifiable list
   */
  List<String> names();
}
