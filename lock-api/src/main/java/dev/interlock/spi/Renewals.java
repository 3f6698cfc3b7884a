package dev.interlock.spi;

import dev.interlock.LockException;

/** Turns the failure of one renewal in a batch into its outcome, so that the others go on. */
final class Renewals {

  private Renewals() {}

  static Renewal guarded(LockBackend backend, Grant grant, Deadline deadline)
      throws InterruptedException {
    try {
      return backend.renew(grant, deadline);
    } catch (LockException e) {
      return new Renewal.Failed(e);
    }
  }
}
