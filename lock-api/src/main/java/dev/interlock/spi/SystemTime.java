package dev.interlock.spi;

import java.util.concurrent.locks.LockSupport;

enum SystemTime implements TimeSource {
  INSTANCE;

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public long wallMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    long remaining = untilNanos - System.nanoTime();
    if (remaining > 0) {
      LockSupport.parkNanos(blocker, remaining);
    }
  }
}
