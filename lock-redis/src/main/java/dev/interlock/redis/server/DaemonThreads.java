package dev.interlock.redis.server;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Executors whose threads are daemons, and end when there is nothing to do. */
public final class DaemonThreads {

  private DaemonThreads() {}

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

  private static ThreadFactory factory(String name) {
    return new ThreadFactoryBuilder().setDaemon(true).setNameFormat(name).build();
  }
}
