package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Uses many names, and returns how much more heap and how many more threads are in use afterwards.
 */
final class UseManyNames implements RemoteTask {
  private static final int THREADS = 16;
  static final int MORE_THREADS = 10;

  @Override
  public String run(Worker worker, List<String> arguments) throws Exception {
    String prefix = arguments.get(0);
    int names = Integer.parseInt(arguments.get(1));
    use(worker.client(), prefix + "-warm", names / 10);
    long heapBefore = usedHeap();
    int threadsBefore = Thread.getAllStackTraces().size();
    use(worker.client(), prefix, names);
    long heap = usedHeap() - heapBefore;
    int threads = threadsAtRest(threadsBefore + MORE_THREADS) - threadsBefore;
    return heap + " " + threads;
  }

  private static void use(LockClient client, String prefix, int names) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> parts = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      int first = t;
      parts.add(
          executor.submit(
              () -> {
                for (int i = first; i < names; i += THREADS) {
                  client.lock(prefix + "-" + i).acquire().release();
                }
                return null;
              }));
    }
    for (Future<?> part : parts) {
      part.get();
    }
    executor.shutdown();
    assertTrue(executor.awaitTermination(1, TimeUnit.MINUTES), "the threads do not end");
  }

  /**
   * {@return the number of threads, once the idle ones that a client keeps for a while have ended}
   */
  static int threadsAtRest(int most) throws InterruptedException {
    long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    int threads = Thread.getAllStackTraces().size();
    while (threads > most && System.nanoTime() - end < 0) {
      RuleTest.letPass(Duration.ofMillis(50));
      threads = Thread.getAllStackTraces().size();
    }
    return threads;
  }

  /** {@return the least of several measurements, since garbage collection is not deterministic} */
  private static long usedHeap() throws InterruptedException {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      System.gc();
      Thread.sleep(50);
      Runtime runtime = Runtime.getRuntime();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }
}
