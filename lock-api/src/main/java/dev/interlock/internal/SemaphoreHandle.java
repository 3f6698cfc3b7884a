package dev.interlock.internal;

import static com.google.common.base.Preconditions.checkArgument;

import dev.interlock.Acquirable;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;

/** A semaphore; by itself, one of its permits. */
final class SemaphoreHandle extends AcquirableHandle implements DistributedSemaphore {

  SemaphoreHandle(Acquirer acquirer, String name, int limit, LockOptions options) {
    super(acquirer, name, Share.ofSemaphore(1, checkedLimit(limit)), options);
  }

  private static int checkedLimit(int limit) {
    checkArgument(limit >= 1, "a semaphore needs a limit of at least 1 permit, not %s", limit);
    return limit;
  }

  @Override
  public String name() {
    return name;
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
    return new AcquirableHandle(acquirer, name, Share.ofSemaphore(permits, limit()), options);
  }

  @Override
  public String toString() {
    return "DistributedSemaphore["
        + name
        + ", limit "
        + limit()
        + " on "
        + acquirer.engine.store.endpoint()
        + "]";
  }
}
