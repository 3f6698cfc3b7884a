package dev.interlock.peers;

import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A lock of a library that was acquired. What is not overridden, the library does not have. */
interface Hold {

  /** {@return how long the store keeps the lock of a dead holder} */
  Duration ttl();

  /** {@return whether the library says that the lock is held} */
  boolean isHeld() throws Exception;

  /**
   * Unlocks.
   *
   * @return RELEASED or ALREADY_LOST if the library says whether the lock was still held, or
   *     UNKNOWN
   */
  ReleaseOutcome unlock() throws Exception;

  /** {@return how much longer it is certainly held} */
  default Duration validity() {
    throw new NotOfferedException("the remaining validity of a lock that is renewed");
  }

  default long token() {
    throw new NotOfferedException("a fencing token");
  }

  default void renew() throws Exception {
    throw new NotOfferedException("renewal by the program");
  }

  /** {@return a future that completes when the library reports the loss of the lock} */
  default CompletableFuture<String> lost() {
    throw new NotOfferedException("a signal of the loss of a lock");
  }
}
