/**
 * Distributed locks: one API for every backend.
 *
 * <p>{@link dev.interlock.LockClient} opens a store from a URI; {@link
 * dev.interlock.DistributedLock} names a lock in it; {@link dev.interlock.Lease} is one successful
 * acquisition, with its {@linkplain dev.interlock.Lease#fencingToken() fencing token} and its
 * {@linkplain dev.interlock.Lease#onLoss() loss signal}.
 *
 * <p>Unless a parameter or a result is marked nullable it is never null; a null argument is refused
 * with a {@link NullPointerException}. Every type here may be used from any thread, virtual threads
 * included.
 */
@NullMarked
package dev.interlock;

import org.jspecify.annotations.NullMarked;
