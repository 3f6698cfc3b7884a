/**
 * A storm: several processes take and lose locks while a nemesis hurts them, the network and the
 * servers, and a checker decides afterwards what held.
 *
 * <p>Start at {@link dev.interlock.storm.StormRun}.
 */
@NullMarked
package dev.interlock.storm;

import org.jspecify.annotations.NullMarked;
