package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.LeasedLock;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;

/** A lock, or one side of a read-write lock. */
final class LockHandle extends ShareHandle implements DistributedLock {

  LockHandle(Acquirer acquirer, String name, Share share, LockOptions options) {
    super(acquirer, name, share, options);
  }

  @Override
  public LeasedLock asLock() {
    return new LockView(this);
  }

  @Override
  public String toString() {
    String side = share.isExclusive() ? "" : share.isWhole() ? ", write lock" : ", read lock";
    return "DistributedLock[" + name + side + " on " + engine.store.endpoint() + "]";
  }
}
