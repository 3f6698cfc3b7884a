package dev.interlock.jdbc;

import dev.interlock.Lease;
import dev.interlock.tck.specimen.ForwardingLease;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A lease of a lock that excludes nobody: it gives out rising tokens and nothing else, so that only
 * the fence stands between its holders.
 */
final class UnlockedLease extends ForwardingLease {

  private static final AtomicLong TOKENS = new AtomicLong();

  private final long token = TOKENS.incrementAndGet();

  /** One that is held for as long as another. */
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
