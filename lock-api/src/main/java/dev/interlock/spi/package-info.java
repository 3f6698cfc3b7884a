/**
 * What a backend implements.
 *
 * <p>A backend for a store without a queue of its own is {@link dev.interlock.spi.LockBackend}
 * alone: one attempt, renew, release, look. Everything that backends share (waiting, deadlines,
 * renewal, validity, loss, async, reentrancy) is done by the engine in front of it. A store that
 * keeps waiters in order implements {@link dev.interlock.spi.QueueingBackend}. {@link
 * dev.interlock.spi.LockProvider} makes a backend known to {@link java.util.ServiceLoader}.
 */
@NullMarked
package dev.interlock.spi;

import org.jspecify.annotations.NullMarked;
