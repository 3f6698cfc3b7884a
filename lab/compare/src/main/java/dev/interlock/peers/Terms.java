package dev.interlock.peers;

import dev.interlock.LockOptions;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;

/**
 * The terms of an acquisition.
 *
 * @param ttl the time after which the lock of a dead holder is free
 * @param renewed whether the lock is renewed while its holder lives
 */
record Terms(Duration ttl, boolean renewed) {

  /** {@return the terms for some options} Options that no peer has are refused. */
  static Terms of(LockOptions options) {
    if (options.maxHold().isPresent()) {
      throw new NotOfferedException("a maximum hold time");
    }
    if (options.minHold().isPresent()) {
      throw new NotOfferedException("a minimum hold time");
    }
    if (options.waitTimeout().isPresent()) {
      throw new NotOfferedException("a limit for all waits of a client");
    }
    return new Terms(options.ttl(), options.autoRenew());
  }
}
