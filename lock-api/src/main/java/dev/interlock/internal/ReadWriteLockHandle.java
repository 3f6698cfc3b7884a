package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;

/** A read-write lock: two shares of one name. */
record ReadWriteLockHandle(Acquirer acquirer, String name, LockOptions options)
    implements DistributedReadWriteLock {

  @Override
  public DistributedLock readLock() {
    return new LockHandle(acquirer, name, Share.READ, options);
  }

  @Override
  public DistributedLock writeLock() {
    return new LockHandle(acquirer, name, Share.WRITE, options);
  }

  @Override
  public String toString() {
    return "DistributedReadWriteLock[" + name + " on " + acquirer.engine.store.endpoint() + "]";
  }
}
