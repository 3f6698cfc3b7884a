/**
 * Our locks, the bare calls of their drivers, and the locks of others, measured in turns on the
 * same servers, and held against the targets.
 *
 * <p>Start at {@link dev.interlock.bench.peers.Peers}.
 */
@NullMarked
package dev.interlock.bench.peers;

import org.jspecify.annotations.NullMarked;
