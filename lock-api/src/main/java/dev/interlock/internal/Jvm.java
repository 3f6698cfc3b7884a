package dev.interlock.internal;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import dev.interlock.spi.TimeSource;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.security.SecureRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The platform of every client outside of simulations: this JVM, on the given clocks. */
final class Jvm implements Platform {

  private static final long KEEP_ALIVE_SECONDS = 10;

  // Executors.newVirtualThreadPerTaskExecutor, where the JVM has it (21 and later).
  private static final @Nullable Method VIRTUAL = virtualThreads();

  private final TimeSource time;

  Jvm(TimeSource time) {
    this.time = time;
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

  @Override
  public Thread thread(String name, Runnable task) {
    Thread thread = new Thread(task, "interlock-" + name);
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public long random(long bound) {
    return ThreadLocalRandom.current().nextLong(bound);
  }

  @Override
  public byte[] unique(int count) {
    byte[] bytes = new byte[count];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }

  @Override
  public ExecutorService pool(String name, int most, boolean virtual) {
    if (virtual && VIRTUAL != null) {
      try {
        return (ExecutorService) VIRTUAL.invoke(null);
      } catch (IllegalAccessException | InvocationTargetException e) {
        throw new IllegalStateException("this JVM has virtual threads, but they do not start", e);
      }
    }
    ThreadFactory factory =
        new ThreadFactoryBuilder()
            .setNameFormat("interlock-" + name + "-%d")
            .setDaemon(true)
            .build();
    if (most == Integer.MAX_VALUE) {
      return new ThreadPoolExecutor(
          0, most, KEEP_ALIVE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), factory);
    }
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            most, most, KEEP_ALIVE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  private static @Nullable Method virtualThreads() {
    try {
      return Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
    } catch (NoSuchMethodException e) {
      return null;
    }
  }
}
