package dev.interlock.internal;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/** A platform with one thread for each kind of asynchronous work. */
final class OneThread implements Platform {

  private final TimeSource time;
  private final Platform jvm;

  OneThread(TimeSource time) {
    this.time = time;
    this.jvm = Platform.on(time);
  }

  @Override
  public ExecutorService pool(String name, int maxThreads, boolean virtual) {
    return jvm.pool(
        name, name.contains("async") || name.contains("observer") ? 1 : maxThreads, false);
  }

  @Override
  public Thread thread(String name, Runnable task) {
    return jvm.thread(name, task);
  }

  @Override
  public long random(long bound) {
    return jvm.random(bound);
  }

  @Override
  public byte[] unique(int count) {
    return jvm.unique(count);
  }

  @Override
  public long nanoTime() {
    return time.nanoTime();
  }

  @Override
  public long wallMillis() {
    return time.wallMillis();
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    time.parkUntil(blocker, untilNanos);
  }

  @Override
  public void unpark(@Nullable Thread thread) {
    time.unpark(thread);
  }
}
