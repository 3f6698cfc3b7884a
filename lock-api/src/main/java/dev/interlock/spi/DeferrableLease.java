package dev.interlock.spi;

import dev.interlock.Lease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;

/**
 * A lease that says at its release for how long the lock stays taken, for adapters to libraries
 * that ask for that at the unlock. The leases of single locks of a {@link dev.interlock.LockClient}
 * are of this type, unless something has wrapped them.
 */
public interface DeferrableLease extends Lease {

  /**
   * Releases the lease as if so much of its {@linkplain dev.interlock.LockOptions#minHold() minimum
   * hold} were left, whatever its options say. Blocks for a request time-out at most.
   *
   * @param delay for how long the lock stays taken; zero or less to free it now
   * @return the outcome, as that of {@link Lease#release()}; {@link ReleaseOutcome#DEFERRED} if the
   *     lock stays taken
   */
  ReleaseOutcome releaseAfter(Duration delay);
}
