package dev.interlock.recipes;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;

/** A job that every machine of a fleet starts at the same time of day, and one machine runs. */
final class NightlyJob {
  private final DistributedLock lock;

  NightlyJob(LockClient client) {
    lock =
        client.lock(
            "jobs/nightly",
            options -> options.minHold(Duration.ofMinutes(5)).maxHold(Duration.ofHours(2)));
  }

  boolean runUnlessTaken(Callable<?> work) throws Exception {
    Optional<Lease> acquired = lock.tryAcquire();
    if (acquired.isEmpty()) {
      return false; // another machine runs it, or has just run it
    }
    try (Lease lease = acquired.get()) {
      lease.callWhileHeld(work);
      return true;
    }
  }
}
