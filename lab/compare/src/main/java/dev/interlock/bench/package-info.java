/**
 * {@code tools/bench}: our locks beside the bare calls of their drivers and the locks of others,
 * the engine alone, what a client weighs, and what grows in the long run.
 *
 * <p>Start at {@link dev.interlock.bench.Main}. {@link dev.interlock.bench.PeersCommand} measures
 * the targets of each {@link dev.interlock.bench.Store} in interleaved rounds on the same servers.
 */
@NullMarked
package dev.interlock.bench;

import org.jspecify.annotations.NullMarked;
