/**
 * Our locks, the bare calls of their drivers, and the locks of others, measured in interleaved
 * rounds on the same servers, and compared with the targets.
 *
 * <p>Start at {@link dev.interlock.bench.peers.Peers}.
 */
@NullMarked
package dev.interlock.bench.peers;

import org.jspecify.annotations.NullMarked;
