/**
 * Measures contenders in interleaved rounds: {@link dev.interlock.compare.rounds.Rounds} runs
 * {@link dev.interlock.compare.rounds.Trial}s, {@link dev.interlock.compare.rounds.Series} keeps
 * what they gave.
 */
@NullMarked
package dev.interlock.compare.rounds;

import org.jspecify.annotations.NullMarked;
