package dev.interlock.peers;

import dev.interlock.LockOptions;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;

/**
 * On what terms a lock is asked for.
 *
 * @param ttl after which time the lock of a dead holder is free
 * @param renewed whether it is kept for longer while its holder lives
 */
record Terms(Duration ttl, boolean renewed) {

  /** {@return the terms of some options, all of which a peer must have} */
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
