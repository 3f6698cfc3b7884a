package dev.interlock.peers;

import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** An acquired lock of a library. By default, operations throw {@link NotOfferedException}. */
abstract class Hold {
  private final boolean renewed;
  private volatile LeaseTime time;

  /**
   * Creates a hold.
   *
   * @param time the lease time, which began before the request for the lock
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

  /** {@return the time for which the store keeps the lock of a dead holder} */
  Duration ttl() {
    return time.duration();
  }

  /**
   * {@return whether the lock is held, according to the library} By default, a lock that is not
   * renewed is held until its lease time has passed.
   */
  boolean isHeld() throws Exception {
    return renewed || !time.remaining().isZero();
  }

  /**
   * Unlocks.
   *
   * @return RELEASED or ALREADY_LOST if the library reports whether the lock was still held,
   *     otherwise UNKNOWN
   */
  abstract ReleaseOutcome unlock() throws Exception;

  /** {@return the remaining lease time} */
  final Duration validity() {
    if (renewed) {
      throw new NotOfferedException("the remaining validity of a lock that is renewed");
    }
    return time.remaining();
  }

  long token() {
    throw new NotOfferedException("a fencing token");
  }

  void renew() throws Exception {
    throw new NotOfferedException("renewal by the program");
  }

  /** {@return a future that completes when the library reports the loss of the lock} */
  CompletableFuture<String> onLoss() {
    throw new NotOfferedException("a signal when a lock is lost");
  }
}
