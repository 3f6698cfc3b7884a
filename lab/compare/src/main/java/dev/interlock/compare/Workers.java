package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Runs a job on several threads that begin at the same moment, for a limited time. */
public final class Workers {
  private static final Duration LAST_WAIT = Duration.ofSeconds(20);
  private static final long STACK_BYTES = 256 << 10;

  /** What one thread does. */
  @FunctionalInterface
  public interface Job {
    /**
     * Works until {@code goesOn} turns false.
     *
     * @param number which of the threads this is, from 0
     * @param goesOn turns false when the time is over or a thread has failed, and stays so
     * @throws Exception if it cannot go on; the other threads then stop as well
     */
    void work(int number, BooleanSupplier goesOn) throws Exception;
  }

  private Workers() {}

  /**
   * Runs a job on several threads, and waits until all have ended.
   *
   * @param slice for how long; threads that are still running 20 s later are interrupted
   * @return the {@link System#nanoTime} at which they began
   * @throws Exception the first failure of any of them
   */
  public static long work(int threads, Duration slice, Job job) throws Exception {
    CountDownLatch begin = new CountDownLatch(1);
    AtomicLong began = new AtomicLong();
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    BooleanSupplier goesOn =
        () -> failure.get() == null && System.nanoTime() - began.get() < slice.toNanos();
    List<Thread> workers = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int number = i;
      Runnable work =
          () -> {
            try {
              begin.await();
              job.work(number, goesOn);
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
      join(workers, slice.plus(LAST_WAIT));
    } finally {
      workers.forEach(Thread::interrupt);
      begin.countDown();
    }
    Throwable failed = failure.get();
    if (failed instanceof Exception exception) {
      throw exception;
    } else if (failed != null) {
      throw new IllegalStateException("a thread failed", failed);
    }
    return began.get();
  }

  private static void join(List<Thread> workers, Duration limit) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    for (Thread thread : workers) {
      thread.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
      if (thread.isAlive()) {
        throw new IllegalStateException(
            "threads that wait for a lock were not served within " + limit.toSeconds() + " s");
      }
    }
  }
}
