package dev.interlock.internal;

import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.TimeSource;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The platform of every client outside of simulations: this JVM, on the given clocks. */
final class Jvm implements Platform {

  private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);

  private static final boolean HAS_VIRTUAL_THREADS = Runtime.version().feature() >= 21;

  private final TimeSource time;

  /** The class loader of the thread that opened the client, for the client's threads. */
  private final @Nullable ClassLoader contextClassLoader;

  Jvm(TimeSource time) {
    this.time = time;
    this.contextClassLoader = Thread.currentThread().getContextClassLoader();
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

  /**
   * Creates a thread that inherits neither thread-locals nor a class loader from its creator, which
   * is the thread that happens to need it first.
   */
  @Override
  public Thread thread(String name, Runnable task) {
    Thread thread = new Thread(null, task, "interlock-" + name, 0, false);
    thread.setDaemon(true);
    thread.setContextClassLoader(contextClassLoader);
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
  public ExecutorService pool(String name, int maxThreads, boolean virtual) {
    String threads = "interlock-" + name;
    if (virtual && HAS_VIRTUAL_THREADS) {
      return virtualThreads(threads + "-");
    }
    if (maxThreads < Integer.MAX_VALUE) {
      return DaemonThreads.several(threads, maxThreads, KEEP_ALIVE);
    }
    return new ThreadPoolExecutor(
        0,
        maxThreads,
        KEEP_ALIVE.toMillis(),
        TimeUnit.MILLISECONDS,
        new SynchronousQueue<>(),
        DaemonThreads.factory(threads + "-%d"));
  }

  /** Creates a virtual thread for each task, set up like {@link #thread}. */
  private ExecutorService virtualThreads(String namePrefix) {
    try {
      // By reflection: the JVM has them from version 21 on.
      Class<?> type = Class.forName("java.lang.Thread$Builder$OfVirtual");
      Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
      type.getMethod("name", String.class, long.class).invoke(builder, namePrefix, 0L);
      type.getMethod("inheritInheritableThreadLocals", boolean.class).invoke(builder, false);
      ThreadFactory plain = (ThreadFactory) type.getMethod("factory").invoke(builder);
      ThreadFactory factory =
          task -> {
            Thread thread = plain.newThread(task);
            thread.setContextClassLoader(contextClassLoader);
            return thread;
          };
      return (ExecutorService)
          Executors.class
              .getMethod("newThreadPerTaskExecutor", ThreadFactory.class)
              .invoke(null, factory);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this JVM has virtual threads, but they do not start", e);
    }
  }
}
