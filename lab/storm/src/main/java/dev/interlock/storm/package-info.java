/**
 * A storm: several processes acquire and lose locks while a nemesis injects faults into them, the
 * network and the servers; a checker then decides which rules held.
 *
 * <p>Start at {@link dev.interlock.storm.StormRun}.
 */
@NullMarked
package dev.interlock.storm;

import org.jspecify.annotations.NullMarked;
