package dev.interlock.internal;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what cannot be waited for by an event. */
final class Waits {

  private Waits() {}

  static void until(String what, BooleanSupplier condition) {
    long giveUpAt = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - giveUpAt > 0) {
        throw new AssertionError("waited in vain for " + what);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
    }
  }
}
