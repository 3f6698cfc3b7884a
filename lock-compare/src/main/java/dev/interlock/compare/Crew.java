package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Threads that begin at the same moment, work until they are told to stop, and are gone afterwards,
 * whatever happens.
 */
public final class Crew {
  private static final Duration LAST_WAIT = Duration.ofSeconds(20);
  private static final long STACK_BYTES = 256 << 10;

  /** What one thread does. */
  @FunctionalInterface
  public interface Job {
    /**
     * Works as long as it goes on.
     *
     * @param number which of the threads this is, from 0
     * @param goesOn turns false once
     * @throws Exception if it cannot go on; all others are then told to stop
     */
    void work(int number, BooleanSupplier goesOn) throws Exception;
  }

  private Crew() {}

  /**
   * Has threads work for a while.
   *
   * @param threads how many
   * @param slice for how long; those that have not ended some seconds later are interrupted
   * @param job what each of them does
   * @return when they were all told to begin, on the clock of {@link System#nanoTime}
   * @throws Exception the first failure of any of them
   */
  public static long work(int threads, Duration slice, Job job) throws Exception {
    CountDownLatch begin = new CountDownLatch(1);
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    Clock clock = new Clock(slice.toNanos());
    List<Thread> crew = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int number = i;
      Thread thread =
          new Thread(
              null,
              () -> {
                try {
                  begin.await();
                  job.work(number, () -> failure.get() == null && clock.goesOn());
                } catch (Throwable e) {
                  failure.compareAndSet(null, e);
                }
              },
              "crew-" + i,
              STACK_BYTES);
      thread.setDaemon(true);
      crew.add(thread);
    }
    try {
      crew.forEach(Thread::start);
      clock.start();
      begin.countDown();
      join(crew, slice.plus(LAST_WAIT));
    } finally {
      crew.forEach(Thread::interrupt);
      begin.countDown();
    }
    Throwable failed = failure.get();
    if (failed instanceof Exception exception) {
      throw exception;
    } else if (failed != null) {
      throw new IllegalStateException("a thread failed", failed);
    }
    return clock.start;
  }

  private static void join(List<Thread> crew, Duration limit) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    for (Thread thread : crew) {
      long left = Math.max(1, (end - System.nanoTime()) / 1_000_000);
      thread.join(left);
      if (thread.isAlive()) {
        throw new IllegalStateException(
            "threads that wait for a lock were not served within " + limit.toSeconds() + " s");
      }
    }
  }

  /** Says until when the work goes on. */
  private static final class Clock {
    private final long nanos;
    private volatile long start;

    Clock(long nanos) {
      this.nanos = nanos;
    }

    void start() {
      start = System.nanoTime();
    }

    boolean goesOn() {
      return System.nanoTime() - start < nanos;
    }
  }
}
