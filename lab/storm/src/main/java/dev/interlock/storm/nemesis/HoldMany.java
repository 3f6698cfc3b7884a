package dev.interlock.storm.nemesis;

import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Acquires the locks of many long names, and keeps the leases until the process ends. It tries each
 * name once, and returns the number of leases when all are tried or a time limit is over.
 */
final class HoldMany implements RemoteTask {
  private static final int NAME_LENGTH = 200;
  private static final int THREADS = 32;

  private final AtomicInteger leases = new AtomicInteger();

  /** {@return one of the names, which all begin with the prefix} */
  static String name(String prefix, int number) {
    String start = prefix + "-" + number + "-";
    return start + "x".repeat(NAME_LENGTH - start.length());
  }

  @Override
  public String run(Worker worker, List<String> arguments) throws Exception {
    String prefix = arguments.get(0);
    int names = Integer.parseInt(arguments.get(1));
    long until = System.nanoTime() + Duration.parse(arguments.get(2)).toNanos();
    LockClient client = open(worker);
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    for (int i = 0; i < names; i++) {
      String name = name(prefix, i);
      executor.execute(() -> acquire(worker, client, name));
    }
    executor.shutdown();
    if (!executor.awaitTermination(until - System.nanoTime(), TimeUnit.NANOSECONDS)) {
      executor.shutdownNow();
    }
    return Integer.toString(leases.get());
  }

  private static LockClient open(Worker worker) throws InterruptedException {
    while (true) {
      try {
        return worker.client();
      } catch (LockException e) {
        TimeUnit.MILLISECONDS.sleep(10); // a fault has already begun
      }
    }
  }

  private void acquire(Worker worker, LockClient client, String name) {
    try {
      worker.keep(name, client.lock(name).acquire());
      leases.incrementAndGet();
    } catch (LockException | InterruptedException e) {
      // The store cannot be reached, and there are many more names; or the time is over.
    }
  }
}
