package dev.interlock.internal;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one client; all daemons, all gone when idle.
 *
 * <p>Five groups, so that none can starve another: contests (asynchronous acquisitions), gatherings
 * (those of sets: they wait behind contests, which must not wait for their threads), clean-up
 * (undoing and releasing in the background), renewal (two threads, two requests in flight), and
 * callbacks into the user's code, which may block for as long as they like.
 */
final class Threads implements AutoCloseable {

  private static final int MOST_CONTESTS = 256;
  private static final int MOST_CLEANERS = 8;
  private static final int RENEWERS = 2;
  private static final long KEEP_ALIVE_SECONDS = 10;

  // Executors.newVirtualThreadPerTaskExecutor, where the JVM has it (21 and later).
  private static final @Nullable Method VIRTUAL = virtualThreads();

  private final ExecutorService contests;
  private final ExecutorService gatherings;
  private final ExecutorService cleanup;
  private final ExecutorService renewal;
  private final ExecutorService callbacks;

  Threads(String backend) {
    contests = pool(backend + "-async", MOST_CONTESTS, true);
    gatherings = pool(backend + "-async-set", MOST_CONTESTS, true);
    cleanup = pool(backend + "-cleanup", MOST_CLEANERS, true);
    renewal = pool(backend + "-renewal", RENEWERS, false);
    callbacks = pool(backend + "-callback", Integer.MAX_VALUE, true);
  }

  Executor contests() {
    return contests;
  }

  Executor gatherings() {
    return gatherings;
  }

  Executor cleanup() {
    return cleanup;
  }

  Executor renewal() {
    return renewal;
  }

  Executor callbacks() {
    return callbacks;
  }

  /** Ends the threads when they have done what they were given; does not wait for them. */
  @Override
  public void close() {
    contests.shutdown();
    gatherings.shutdown();
    cleanup.shutdown();
    renewal.shutdown();
    callbacks.shutdown();
  }

  private static ExecutorService pool(String name, int most, boolean virtual) {
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
