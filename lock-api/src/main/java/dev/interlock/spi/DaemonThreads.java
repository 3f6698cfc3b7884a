package dev.interlock.spi;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Creates daemon threads for backends. They inherit no {@link InheritableThreadLocal}. Their
 * context class loader is that of the thread that created the factory or executor, whichever thread
 * submits the first task.
 */
public final class DaemonThreads {

  private DaemonThreads() {}

  /**
   * {@return a factory of daemon threads}
   *
   * @param nameFormat the threads' names, in which {@code %d} is a number that counts from 0
   */
  public static ThreadFactory factory(String nameFormat) {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    AtomicInteger count = new AtomicInteger();
    return task -> {
      String name = String.format(Locale.ROOT, nameFormat, count.getAndIncrement());
      Thread thread = new Thread(null, task, name, 0, /* inheritThreadLocals= */ false);
      thread.setDaemon(true);
      thread.setContextClassLoader(loader);
      return thread;
    };
  }

  /**
   * Runs a task that may block without limit, such as writing to a log of the program, on a thread
   * of its own. If no thread can be started, the task does not run.
   *
   * @param name the thread's name
   * @param blocking the task
   */
  public static void runApart(String name, Runnable blocking) {
    try {
      factory(name).newThread(blocking).start();
    } catch (OutOfMemoryError e) {
      // The caller's own work is more important than a log message.
    }
  }

  /**
   * {@return an executor with one thread, which drops delayed tasks when it is shut down}
   *
   * @param name the thread's name
   * @param idleTimeout how long the thread stays without work
   */
  public static ScheduledThreadPoolExecutor one(String name, Duration idleTimeout) {
    ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1, factory(name));
    executor.setKeepAliveTime(idleTimeout.toMillis(), TimeUnit.MILLISECONDS);
    executor.allowCoreThreadTimeOut(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }

  /**
   * {@return an executor with several threads}
   *
   * @param name the beginning of the threads' names
   * @param maxThreads the maximum number of threads
   * @param idleTimeout how long a thread stays without work
   */
  public static ThreadPoolExecutor several(String name, int maxThreads, Duration idleTimeout) {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            maxThreads,
            maxThreads,
            idleTimeout.toMillis(),
            TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(),
            factory(name + "-%d"));
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }
}
