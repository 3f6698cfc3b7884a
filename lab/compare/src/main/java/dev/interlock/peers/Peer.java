package dev.interlock.peers;

import dev.interlock.LockState;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A client of a lock library. Its methods throw the exceptions of the library. By default, optional
 * operations throw {@link NotOfferedException}.
 */
interface Peer extends AutoCloseable {

  /**
   * Acquires a lock.
   *
   * @param name the lock's name
   * @param terms its TTL, and whether to renew it
   * @param atMost how long to wait; zero for a single attempt, null to wait without limit
   * @return null if it was not acquired
   */
  @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost) throws Exception;

  /** Acquires a lock asynchronously. The future completes with null if it was not acquired. */
  default CompletableFuture<@Nullable Hold> acquireAsync(
      String name, Terms terms, @Nullable Duration atMost) {
    throw new NotOfferedException("an asynchronous acquisition");
  }

  /** {@return the library's own implementation of the {@link Lock} interface} */
  default Lock view(String name, Terms terms) {
    throw new NotOfferedException("java.util.concurrent.locks.Lock");
  }

  /** {@return the exception that says why locks on several names are not tested} */
  default RuntimeException multiLockRefusal() {
    return new NotOfferedException("a lock on several names");
  }

  default LockState inspect(String name) throws Exception {
    throw new NotOfferedException("a query of a lock's state");
  }

  default boolean forceUnlock(String name) throws Exception {
    throw new NotOfferedException("a forced release");
  }
}
