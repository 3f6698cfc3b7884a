package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Uses many names, and returns the growth of the heap, and of the number of threads. */
final class UseManyNames implements RemoteTask {
  private static final int THREADS = 16;
  static final int MAX_ADDED_THREADS = 10;
  static final long MAX_BYTES_PER_NAME = 100;

  @Override
  public String run(Worker worker, List<String> arguments) throws Exception {
    String prefix = arguments.get(0);
    int names = Integer.parseInt(arguments.get(1));
    use(worker.client(), prefix + "-warm", names / 10);
    long heapBefore = usedHeap();
    int threadsBefore = Thread.getAllStackTraces().size();
    use(worker.client(), prefix, names);
    long heap = heapAtRest(heapBefore + names * MAX_BYTES_PER_NAME) - heapBefore;
    int threads = threadsAtRest(threadsBefore + MAX_ADDED_THREADS) - threadsBefore;
    return heap + " " + threads;
  }

  private static void use(LockClient client, String prefix, int names) throws Exception {
    forEach(
        names,
        i -> {
          client.lock(prefix + "-" + i).acquire().release();
          return i;
        });
  }

  /** Work on a numbered item. */
  interface NumberedWork<T> {
    T on(int number) throws Exception;
  }

  /** Works on each number below a limit, on threads that end with the call. */
  static <T> List<T> forEach(int limit, NumberedWork<T> work) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    List<Future<T>> futures =
        executor.invokeAll(
            IntStream.range(0, limit).<Callable<T>>mapToObj(i -> () -> work.on(i)).toList());
    List<T> results = new ArrayList<>();
    for (Future<T> future : futures) {
      results.add(future.get());
    }
    executor.shutdown();
    assertTrue(executor.awaitTermination(1, TimeUnit.MINUTES), "the threads do not end");
    return results;
  }

  /**
   * {@return the number of threads after the idle ones that a client keeps for a while have ended}
   */
  static int threadsAtRest(int expected) {
    RuleTest.poll(
        Duration.ofSeconds(30),
        Duration.ofMillis(50),
        () -> Thread.getAllStackTraces().size() <= expected);
    return Thread.getAllStackTraces().size();
  }

  /** {@return the heap in use after what a client keeps for a while has gone} */
  private static long heapAtRest(long expected) throws InterruptedException {
    long heap = usedHeap();
    long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (heap > expected && System.nanoTime() - end < 0) {
      heap = usedHeap();
    }
    return heap;
  }

  /** {@return the smallest of several measurements, since garbage collection varies} */
  private static long usedHeap() throws InterruptedException {
    long min = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      System.gc();
      Thread.sleep(50);
      Runtime runtime = Runtime.getRuntime();
      min = Math.min(min, runtime.totalMemory() - runtime.freeMemory());
    }
    return min;
  }
}
