/**
 * Distributed locks: one API for every backend.
 *
 * <p>{@link dev.interlock.LockClient} connects to the store that a URI names. {@link
 * dev.interlock.DistributedLock} is a lock on that store. {@link dev.interlock.Lease} is one
 * successful acquisition, with a {@linkplain dev.interlock.Lease#fencingToken() fencing token} and
 * a {@linkplain dev.interlock.Lease#onLoss() loss signal}.
 *
 * <p>Parameters and results are never null unless they are marked nullable; a null argument causes
 * a {@link NullPointerException}. All types are safe for use by several threads, including virtual
 * threads.
 */
@NullMarked
package dev.interlock;

import org.jspecify.annotations.NullMarked;
