/**
 * The interfaces that a backend implements.
 *
 * <p>A backend for a store without a queue implements {@link dev.interlock.spi.LockBackend}: it
 * makes single attempts, renews, releases and inspects. The engine does everything that backends
 * have in common: waiting, deadlines, renewal, validity, loss, asynchronous calls, reentrancy. A
 * backend whose store keeps waiters in order implements {@link dev.interlock.spi.QueueingBackend}.
 * {@link java.util.ServiceLoader} finds a backend by its {@link dev.interlock.spi.LockProvider}.
 * {@link dev.interlock.spi.UriParameter} declares the parameters of its URIs.
 */
@NullMarked
package dev.interlock.spi;

import org.jspecify.annotations.NullMarked;
