package dev.interlock.peers;

import dev.interlock.LockState;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A client of a lock library. Its methods throw what the library throws. What is not overridden,
 * the library does not have.
 */
interface Peer extends AutoCloseable {

  /**
   * Acquires a lock.
   *
   * @param name the lock's name
   * @param terms the terms
   * @param atMost how long to wait; zero for an attempt, null for as long as it takes
   * @return null if it was not acquired
   */
  @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost) throws Exception;

  /** Like {@link #acquire}; the future completes with null if the lock was not acquired. */
  default CompletableFuture<@Nullable Hold> acquireAsync(
      String name, Terms terms, @Nullable Duration atMost) {
    throw new NotOfferedException("an asynchronous acquisition");
  }

  /** {@return the library's own lock as the JDK's interface} */
  default Lock view(String name, Terms terms) {
    throw new NotOfferedException("java.util.concurrent.locks.Lock");
  }

  /** {@return why locks on several names are not tested} */
  default RuntimeException withoutSets() {
    return new NotOfferedException("a lock on several names");
  }

  default LockState inspect(String name) throws Exception {
    throw new NotOfferedException("a query of a lock's state");
  }

  default boolean forceUnlock(String name) throws Exception {
    throw new NotOfferedException("a forced release");
  }
}
