/**
 * A storm: several processes acquire and lose locks while a nemesis injects faults into them, the
 * network and the servers; a checker then decides which rules held.
 *
 * <p>{@link dev.interlock.storm.Storms} runs storms over several backends, and {@link
 * dev.interlock.storm.StormRun} runs one storm. The package {@code nemesis} has the faults ({@link
 * dev.interlock.storm.nemesis.FaultKind} lists them), {@code workers} the clients, {@code verdict}
 * the rules that are checked, and {@code report} the report.
 */
@NullMarked
package dev.interlock.storm;

import org.jspecify.annotations.NullMarked;
