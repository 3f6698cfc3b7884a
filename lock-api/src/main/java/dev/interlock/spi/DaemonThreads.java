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
 * Threads for backends. They are daemons, and keep nothing of the program: they inherit no {@link
 * InheritableThreadLocal}, and their context class loader is that of the thread that made the
 * factory or executor, whoever gives the first work to it later.
 */
public final class DaemonThreads {

  private DaemonThreads() {}

  /**
   * {@return a factory of threads}
   *
   * @param nameFormat the threads' names, in which {@code %d} stands for a number that counts from
   *     0 on
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
   * Runs something that may block for as long as it likes, such as a log of the program, on a
   * thread of its own. If none can be started, it is left out.
   *
   * @param name the thread's name
   * @param blocking what to run
   */
  public static void runApart(String name, Runnable blocking) {
    try {
      factory(name).newThread(blocking).start();
    } catch (OutOfMemoryError e) {
      // No message is worth more than what its caller has to do.
    }
  }

  /**
   * {@return an executor with one thread, which drops delayed tasks when it is shut down}
   *
   * @param name the thread's name
   * @param rest how long the thread stays without work
   */
  public static ScheduledThreadPoolExecutor one(String name, Duration rest) {
    ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1, factory(name));
    executor.setKeepAliveTime(rest.toMillis(), TimeUnit.MILLISECONDS);
    executor.allowCoreThreadTimeOut(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }

  /**
   * {@return an executor with several threads}
   *
   * @param name the beginning of the threads' names
   * @param most the number of threads
   * @param rest how long a thread stays without work
   */
  public static ThreadPoolExecutor several(String name, int most, Duration rest) {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            most,
            most,
            rest.toMillis(),
            TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(),
            factory(name + "-%d"));
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }
}
