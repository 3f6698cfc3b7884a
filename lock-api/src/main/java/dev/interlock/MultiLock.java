package dev.interlock;

import java.util.List;

/**
 * Several names, locked together or not at all; see {@link LockClient#lockAll}.
 *
 * <p>The names are taken one after the other, in the order of their code points, so that two
 * overlapping sets never deadlock. Those already held are renewed while the next is waited for, and
 * all once more before the lease is granted. If one is lost in spite of that before all are held,
 * the others are released and the acquisition starts over, as long as there is time; a {@link
 * LockUnavailableException} says that there was none left.
 *
 * <p>{@code tryAcquire()} asks for all names within one request time-out; {@code
 * tryAcquire(Duration)} asks for none when its time and 250 ms have passed. A store that is too
 * slow for that is a {@link LockUnavailableException}. A renewal that is not answered may add one
 * request time-out to either, and giving up those already held another.
 */
public interface MultiLock extends Acquirable<MultiLease> {

  /**
   * Returns the names, without duplicates, in the order in which they are taken.
   *
   * @return an unmodifiable list
   */
  List<String> names();
}
