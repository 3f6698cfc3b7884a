package dev.interlock.peers;

import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A lock of a library that was acquired. What is not overridden, the library does not have. */
abstract class Hold {
  private final boolean renewed;
  private volatile LeaseTime time;

  /**
   * Creates a hold.
   *
   * @param time its lease time, counted from before the lock was asked for
   * @param renewed whether the library renews it
   */
  Hold(LeaseTime time, boolean renewed) {
    this.time = time;
    this.renewed = renewed;
  }

  final boolean isRenewed() {
    return renewed;
  }

  final LeaseTime time() {
    return time;
  }

  final void extend(LeaseTime extended) {
    time = extended;
  }

  /** {@return how long the store keeps the lock of a dead holder} */
  Duration ttl() {
    return time.whole();
  }

  /**
   * {@return whether the library says that the lock is held} Without a query, a holder knows that
   * it has locked, and when the lease time is over.
   */
  boolean isHeld() throws Exception {
    return renewed || !time.left().isZero();
  }

  /**
   * Unlocks.
   *
   * @return RELEASED or ALREADY_LOST if the library says whether the lock was still held, or
   *     UNKNOWN
   */
  abstract ReleaseOutcome unlock() throws Exception;

  /** {@return how much longer it is certainly held} */
  final Duration validity() {
    if (renewed) {
      throw new NotOfferedException("the remaining validity of a lock that is renewed");
    }
    return time.left();
  }

  long token() {
    throw new NotOfferedException("a fencing token");
  }

  void renew() throws Exception {
    throw new NotOfferedException("renewal by the program");
  }

  /** {@return a future that completes when the library reports the loss of the lock} */
  CompletableFuture<String> onLoss() {
    throw new NotOfferedException("a signal of the loss of a lock");
  }
}
