package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;

/** A read-write lock: two shares of one name. */
record ReadWriteLockHandle(DefaultLockClient engine, String name, LockOptions options)
    implements DistributedReadWriteLock {

  @Override
  public DistributedLock readLock() {
    return new LockHandle(engine, name, Share.READ, options);
  }

  @Override
  public DistributedLock writeLock() {
    return new LockHandle(engine, name, Share.WRITE, options);
  }

  @Override
  public String toString() {
    return "DistributedReadWriteLock[" + name + " on " + engine.endpoint() + "]";
  }
}
