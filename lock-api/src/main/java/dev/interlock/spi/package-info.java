/**
 * The interfaces that a backend implements.
 *
 * <p>A backend for a store without a queue implements {@link dev.interlock.spi.LockBackend}: one
 * attempt, renew, release, inspect. The engine does everything that backends share: waiting,
 * deadlines, renewal, validity, loss, async, reentrancy. A backend whose store keeps waiters in
 * order implements {@link dev.interlock.spi.QueueingBackend}. {@link
 * dev.interlock.spi.LockProvider} makes a backend known to {@link java.util.ServiceLoader}, and
 * {@link dev.interlock.spi.UriParameter} declares the parameters of its URIs.
 */
@NullMarked
package dev.interlock.spi;

import org.jspecify.annotations.NullMarked;
