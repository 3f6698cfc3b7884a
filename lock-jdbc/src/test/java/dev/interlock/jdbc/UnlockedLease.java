package dev.interlock.jdbc;

import dev.interlock.Lease;
import dev.interlock.tck.specimen.ForwardingLease;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A lease of a lock that excludes nobody. It only provides rising tokens, so that the fence alone
 * separates its holders.
 */
final class UnlockedLease extends ForwardingLease {

  private static final AtomicLong TOKENS = new AtomicLong();

  private final long token = TOKENS.incrementAndGet();

  /** Returns a lease that is held as long as another. */
  UnlockedLease(Lease held) {
    super(held);
  }

  @Override
  public String name() {
    return "stock/42";
  }

  @Override
  public long fencingToken() {
    return token;
  }
}
