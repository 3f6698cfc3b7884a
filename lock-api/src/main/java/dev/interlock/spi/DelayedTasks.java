package dev.interlock.spi;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs short tasks of a backend after a delay, on one {@linkplain DaemonThreads daemon thread}. The
 * thread starts with the first task, and ends after half a minute without tasks.
 *
 * <p>Backends use this class in place of {@link CompletableFuture#delayedExecutor}, {@link
 * CompletableFuture#orTimeout} and {@link CompletableFuture#completeOnTimeout}. These run dependent
 * actions on a thread that the whole JVM shares. A callback of the program that blocks there would
 * delay the backend until leases are lost.
 *
 * <p>Delays are in real time, not in that of a {@link TimeSource}. Tasks, and dependent actions of
 * the futures that are completed here, must not block, because they delay each other.
 */
public final class DelayedTasks implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(DelayedTasks.class);

  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);

  private final ScheduledThreadPoolExecutor executor;
  private final Set<CompletableFuture<?>> limited = ConcurrentHashMap.newKeySet();

  /**
   * Creates the executor without starting its thread.
   *
   * @param threadName the thread's name
   */
  public DelayedTasks(String threadName) {
    this(threadName, IDLE_TIMEOUT);
  }

  DelayedTasks(String threadName, Duration idleTimeout) {
    this.executor = DaemonThreads.one(threadName, idleTimeout);
  }

  /**
   * Runs a task after a delay, unless this object is closed before. Logs a failure of the task.
   *
   * @param task the task; must not block
   * @param delay the time from now
   * @return a future; cancel it if the task is no longer needed, so that the task is not kept
   * @throws OutOfMemoryError if the thread cannot be started; the task is then dropped
   */
  @CanIgnoreReturnValue
  public Future<?> run(Runnable task, Duration delay) {
    // Without this, the executor would keep a task whose thread cannot be started.
    boolean unused = executor.prestartCoreThread();
    try {
      return executor.schedule(() -> runLogged(task), delay.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      CompletableFuture<?> dropped = new CompletableFuture<>();
      dropped.cancel(false);
      return dropped;
    }
  }

  private static void runLogged(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      log.error("a delayed task failed", e);
    }
  }

  /**
   * Completes a future with a {@link TimeoutException} if it is not complete after the given time,
   * or when this object is closed.
   *
   * @param <T> the type of its value
   * @param future the future; nobody may need to wait for it beyond the limit
   * @param limit the time from now
   * @return the same future
   */
  @CanIgnoreReturnValue
  @SuppressWarnings("CollectionUndefinedEquality") // a future equals itself
  public <T> CompletableFuture<T> timeOut(CompletableFuture<T> future, Duration limit) {
    limited.add(future);
    var unused = future.whenComplete((value, failure) -> limited.remove(future));
    Future<?> expiry = run(() -> expire(future), limit);
    unused = future.whenComplete((value, failure) -> expiry.cancel(false));
    if (executor.isShutdown()) {
      expire(future);
    }
    return future;
  }

  private static void expire(CompletableFuture<?> future) {
    future.completeExceptionally(new TimeoutException());
  }

  /**
   * {@return a future that completes after a delay, or when this object is closed}
   *
   * @param delay the time from now
   */
  public CompletableFuture<Void> after(Duration delay) {
    return timeOut(new CompletableFuture<Void>(), delay).exceptionally(expired -> null);
  }

  /**
   * Drops every task that has not begun, times out every future at once, and ends the thread. Does
   * not wait for a task that has begun. Closing again does nothing.
   */
  @Override
  public void close() {
    executor.shutdown();
    limited.forEach(DelayedTasks::expire);
  }
}
