package dev.interlock;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The methods that acquire one lock, or several at once.
 *
 * <p>A held lock is a result: {@code tryAcquire} returns empty. A failure is an exception.
 * Acquisition is not reentrant: a second acquisition waits for the first, even on the same thread.
 * An acquisition that is interrupted, cancelled or timed out leaves nothing behind, and never
 * becomes the holder later.
 *
 * <pre>{@code
 * try (Lease lease = lock.acquire()) { // waits
 *   work(lease);
 * }
 * Optional<Lease> now = lock.tryAcquire();
 * Optional<Lease> soon = lock.tryAcquire(Duration.ofSeconds(5));
 * CompletableFuture<Lease> later = lock.acquireAsync();
 * }</pre>
 *
 * <p>In addition to the exceptions it lists, every method throws:
 *
 * <ul>
 *   <li>{@link LockUnavailableException} if the store cannot be reached or cannot serve, or if the
 *       lease ended before the call could return it;
 *   <li>{@link LockConfigurationException} if the call can never succeed with the current settings;
 *   <li>{@link IllegalStateException} if the client is or becomes closed.
 * </ul>
 *
 * @param <L> the type of lease
 */
@CheckReturnValue
public interface Acquirable<L extends Lease> {

  /**
   * Acquires the lock, waiting until it is available. While the store cannot be reached, the call
   * retries with growing pauses; it fails once the store has been unreachable for the {@linkplain
   * LockOptions#outageTimeout() outage time-out} without a break.
   *
   * @return the lease; the lock stays held until it is released or becomes unreachable
   * @throws InterruptedException if the thread is interrupted before or while waiting
   * @throws LockTimeoutException if {@link LockOptions#waitTimeout()} is set and passes
   */
  L acquire() throws InterruptedException;

  /**
   * Acquires the lock if it is free; does not wait for a holder. Blocks for at most the request
   * time-out (several names at once: see {@link MultiLock}), and not at all if the lock is held
   * through this client.
   *
   * @return the lease; empty if another holds the lock, or if the lock was just released and is
   *     reserved for a waiter
   */
  Optional<L> tryAcquire();

  /**
   * Waits for the lock for at most the given time. Retries transient failures until then. A request
   * to the store gets at most the remaining time, but at least 250 ms (or the request time-out if
   * that is shorter), so the call may take that much longer.
   *
   * @param timeout how long to wait; zero does what {@link #tryAcquire()} does
   * @return the lease, or empty if the store last reported the lock as held
   * @throws InterruptedException if the thread is interrupted before or while waiting
   * @throws LockUnavailableException if the time passed and the last request failed
   * @throws IllegalArgumentException if the time is negative
   */
  Optional<L> tryAcquire(Duration timeout) throws InterruptedException;

  /**
   * Acquires as {@link #acquire()} does, without blocking the caller. Cancelling the future, or
   * completing it in any other way (as {@link CompletableFuture#orTimeout} does), ends the wait. If
   * the lock was acquired at the same moment, it is released again.
   *
   * <p>The attempts run on virtual threads if the JVM has them. Otherwise they run on at most 256
   * daemon threads of the client, and 256 more for several names at once. An acquisition that waits
   * behind another one of the same client and name occupies no thread. If no thread becomes free in
   * time, an acquisition with a time limit fails with {@link LockUnavailableException}. For an
   * acquisition of several names, an outage of the store counts only from when it has a thread.
   *
   * @return a future that completes with the lease, or exceptionally as {@link #acquire()} throws
   */
  CompletableFuture<L> acquireAsync();

  /**
   * Acquires as {@link #tryAcquire()} does, without blocking the caller; see {@link
   * #acquireAsync()}.
   *
   * @return a future that completes with the lease or empty, or exceptionally as {@link
   *     #tryAcquire()} throws
   */
  CompletableFuture<Optional<L>> tryAcquireAsync();

  /**
   * Acquires as {@link #tryAcquire(Duration)} does, without blocking the caller; see {@link
   * #acquireAsync()}.
   *
   * @param timeout how long to wait, not negative
   * @return a future that completes with the lease or empty, or exceptionally as {@link
   *     #tryAcquire(Duration)} throws
   * @throws IllegalArgumentException if the time is negative
   */
  CompletableFuture<Optional<L>> tryAcquireAsync(Duration timeout);
}
