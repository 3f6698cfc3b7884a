package dev.interlock.recipes;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongConsumer;

/** Many orders at once, one at a time for each customer; for Java 21 and newer. */
public final class VirtualThreads {
  private VirtualThreads() {}

  /** Returns when all orders have been shipped. */
  public static void shipAll(LockClient client, int orders, LongConsumer ship) throws Exception {
    List<Callable<Long>> tasks = new ArrayList<>();
    for (int order = 0; order < orders; order++) {
      DistributedLock lock = client.lock("customers/" + order % 10);
      tasks.add(
          () -> {
            try (Lease lease = lock.acquire()) { // occupies no carrier while it waits
              ship.accept(lease.fencingToken());
              return lease.fencingToken();
            }
          });
    }
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (Future<Long> shipped : threads.invokeAll(tasks)) {
        shipped.get();
      }
    }
  }
}
