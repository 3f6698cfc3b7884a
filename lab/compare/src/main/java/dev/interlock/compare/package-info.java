/**
 * The cost and the guarantees of each backend, measured side by side on one machine: for users by
 * {@code interlock compare}, and for those who change Interlock by {@code tools/bench}.
 *
 * <p>Start at {@link dev.interlock.compare.Comparison}. A backend takes part by being on the class
 * path; with a {@link dev.interlock.report.ServerSource} it gets its own server, with a {@link
 * dev.interlock.compare.baseline.BareDriver} it is compared with the least that its driver can do.
 * {@code tools/bench} starts at {@link dev.interlock.compare.BenchCommand}, and measures the
 * targets of each {@link dev.interlock.compare.Store}, beside the locks of other libraries.
 *
 * <p>Both measure in interleaved rounds: {@link dev.interlock.compare.Rounds} runs {@link
 * dev.interlock.compare.Trial}s, {@link dev.interlock.compare.Series} keeps what they gave.
 */
@NullMarked
package dev.interlock.compare;

import org.jspecify.annotations.NullMarked;
