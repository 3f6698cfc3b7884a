package dev.interlock.internal;

import static dev.interlock.internal.Arguments.checkArgument;

import dev.interlock.Acquirable;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;

/** A semaphore. Used as a lock, it acquires one permit. */
final class SemaphoreHandle extends ShareHandle implements DistributedSemaphore {

  SemaphoreHandle(Acquirer acquirer, String name, int limit, LockOptions options) {
    super(acquirer, name, Share.ofSemaphore(1, limit), options);
  }

  @Override
  public int limit() {
    return share.capacity();
  }

  @Override
  public Acquirable<Lease> permits(int permits) {
    checkArgument(
        permits >= 1 && permits <= limit(),
        "the semaphore \"%s\" has %s permits; acquire 1 to %s of them, not %s",
        name,
        limit(),
        limit(),
        permits);
    return new ShareHandle(acquirer, name, Share.ofSemaphore(permits, limit()), options);
  }

  @Override
  public String toString() {
    String where = engine.store.endpoint();
    return "DistributedSemaphore[" + name + ", limit " + limit() + " on " + where + "]";
  }
}
