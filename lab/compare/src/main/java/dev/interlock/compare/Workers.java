package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Runs a job on several threads that start together, for a limited time. */
public final class Workers {
  private static final Duration END_TIMEOUT = Duration.ofSeconds(20);
  private static final long STACK_BYTES = 256 << 10;

  /** The work of one thread. */
  @FunctionalInterface
  public interface Job {
    /**
     * Works until {@code running} turns false.
     *
     * @param number the number of the thread, from 0
     * @param running returns false once the time is over or a thread has failed
     * @throws Exception if the work fails; the other threads then stop, too
     */
    void work(int number, BooleanSupplier running) throws Exception;
  }

  private Workers() {}

  /**
   * Runs a job on several threads and waits until all have ended.
   *
   * @param slice how long; threads that still run 20 s later are interrupted
   * @return the {@link System#nanoTime} at which the threads started
   * @throws Exception the first failure of any of them
   */
  public static long work(int threads, Duration slice, Job job) throws Exception {
    CountDownLatch begin = new CountDownLatch(1);
    AtomicLong began = new AtomicLong();
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    BooleanSupplier running =
        () -> failure.get() == null && System.nanoTime() - began.get() < slice.toNanos();
    List<Thread> workers = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int number = i;
      Runnable work =
          () -> {
            try {
              begin.await();
              job.work(number, running);
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            }
          };
      Thread thread = new Thread(null, work, "worker-" + i, STACK_BYTES);
      thread.setDaemon(true);
      workers.add(thread);
    }
    try {
      workers.forEach(Thread::start);
      began.set(System.nanoTime());
      begin.countDown();
      join(workers, slice.plus(END_TIMEOUT));
    } finally {
      workers.forEach(Thread::interrupt);
      begin.countDown();
    }
    Throwable failed = failure.get();
    if (failed instanceof Exception exception) {
      throw exception;
    } else if (failed != null) {
      throw new IllegalStateException("a worker thread failed", failed);
    }
    return began.get();
  }

  private static void join(List<Thread> workers, Duration limit) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    for (Thread thread : workers) {
      thread.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
      if (thread.isAlive()) {
        throw new IllegalStateException(
            "a thread did not end within "
                + limit.toSeconds()
                + " s; it may still wait for a lock");
      }
    }
  }
}
