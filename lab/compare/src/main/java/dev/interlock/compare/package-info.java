/**
 * Measures the cost and the guarantees of backends side by side on one machine. Users run it as
 * {@code interlock compare}, and developers of Interlock as {@code tools/bench}.
 *
 * <p>Start at {@link dev.interlock.compare.Comparison}. A backend takes part by being on the class
 * path; a {@link dev.interlock.report.ServerProvider} gives it a server of its own, and a {@link
 * dev.interlock.compare.baseline.BareDriver} gives it a baseline. {@code tools/bench} starts at
 * {@link dev.interlock.compare.BenchCommand}; it measures the targets for each {@link
 * dev.interlock.compare.Store}, and the locks of other libraries.
 *
 * <p>Both measure in interleaved rounds: {@link dev.interlock.compare.Rounds} runs {@link
 * dev.interlock.compare.Trial}s, and {@link dev.interlock.compare.Series} keeps their figures.
 */
@NullMarked
package dev.interlock.compare;

import org.jspecify.annotations.NullMarked;
