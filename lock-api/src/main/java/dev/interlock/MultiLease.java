package dev.interlock;

import java.util.List;

/**
 * A lease over several names; see {@link LockClient#multiLock}. It is held while all of them are:
 * if one is lost, the others are released.
 *
 * <p>{@link #name()} is the names joined by {@code ", "}; {@link #remainingValidity()} and {@link
 * #effectiveTtl()} are the smallest of the names'.
 */
public interface MultiLease extends Lease {

  /**
   * Returns the names, without duplicates, in the order in which they were acquired.
   *
   * @return an unmodifiable list
   */
  List<String> names();

  /**
   * Returns the fencing token of one of the names.
   *
   * @param name one of {@link #names()}
   * @return its token
   * @throws IllegalArgumentException if the lease does not have the name
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#FENCING}
   */
  long fencingToken(String name);

  /**
   * Returns the fencing token if there is only one name. Each of several names has {@linkplain
   * #fencingToken(String) its own}.
   *
   * @return the token
   * @throws UnsupportedOperationException if there are several names, or if the backend lacks
   *     {@link Capability#FENCING}
   */
  @Override
  long fencingToken();
}
