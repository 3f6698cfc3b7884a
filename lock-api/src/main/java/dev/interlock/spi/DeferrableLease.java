package dev.interlock.spi;

import dev.interlock.Lease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;

/**
 * A lease whose release says for how long the lock stays taken. It is for adapters to libraries
 * that take this time as an argument of the unlock. The leases of single locks of a {@link
 * dev.interlock.LockClient} are of this type, unless something has wrapped them.
 */
public interface DeferrableLease extends Lease {

  /**
   * Releases the lease as if its {@linkplain dev.interlock.LockOptions#minHold() minimum hold}
   * ended after the given delay, whatever its options say. Blocks for at most a request time-out.
   *
   * @param delay for how long the lock stays taken; zero or less frees it now
   * @return the outcome, as for {@link Lease#release()}; {@link ReleaseOutcome#DEFERRED} if the
   *     lock stays taken
   */
  ReleaseOutcome releaseAfter(Duration delay);
}
