/**
 * The engine that all backends share. Not exported. docs/architecture.md draws its parts and the
 * phases of a lease.
 *
 * <ul>
 *   <li>To acquire: a {@link dev.interlock.internal.BlockingAcquisition} or {@link
 *       dev.interlock.internal.AsyncAcquisition} enters the {@link
 *       dev.interlock.internal.LocalQueue} of the name. Its head runs an {@link
 *       dev.interlock.internal.AcquireLoop}, whose {@link dev.interlock.internal.StoreAttempt}s ask
 *       the store. A grant of the store becomes a {@link dev.interlock.internal.HeldGrant} with its
 *       first {@link dev.interlock.internal.LeaseState}; the program gets a {@link
 *       dev.interlock.internal.LeaseHandle}.
 *   <li>To renew: the grant passes itself to the {@link dev.interlock.internal.Renewer}, which asks
 *       the store, and passes the outcome back to the grant.
 *   <li>To release: {@link dev.interlock.internal.Release} keeps the lock for its minimum hold, or
 *       has a {@link dev.interlock.internal.Handoff} pass the grant to the next waiter, or asks the
 *       store.
 *   <li>A loss: {@link dev.interlock.internal.HeldGrant#endLost} ends the leases and signals it.
 * </ul>
 *
 * <p>All of them share an {@link dev.interlock.internal.Engine}, which does not know leases.
 */
@NullMarked
package dev.interlock.internal;

import org.jspecify.annotations.NullMarked;
