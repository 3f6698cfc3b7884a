package dev.interlock.compare;

import static dev.interlock.compare.Competitor.OURS;
import static dev.interlock.compare.Target.atLeast;

import dev.interlock.LockClient;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Measures the targets for readers of one name and for semaphores.
 *
 * @param competitors our lock and that of another library
 */
record SharedTargets(
    Bench bench, @Nullable RequestCounter requests, List<Competitor<Locking>> competitors) {

  /** The permits of the semaphore. */
  static final int PERMITS = 8;

  /** The target where threads share or wait, so that a client can save requests. */
  private static final Target TWICE_AS_MANY = atLeast(2);

  /** The target where no request can be saved. */
  private static final Target AS_MANY = atLeast(1);

  private static final int CLIENTS = 4;
  private static final int THREADS_EACH = 4;
  private static final String CLIENTS_EACH = CLIENTS + " clients × " + THREADS_EACH;

  static void measure(
      Bench bench,
      @Nullable RequestCounter requests,
      Competitor<Locking> readers,
      Competitor<Locking> permits)
      throws InterruptedException {
    Competitor<Locking> ourReaders =
        new Competitor<>(OURS, (uri, threads) -> Locking.readLocks(LockClient.open(uri)));
    SharedTargets ofReaders = new SharedTargets(bench, requests, List.of(ourReaders, readers));
    String name = "readers of one name, ";
    ofReaders.measure(name + "1 thread", 1, 1, AS_MANY);
    ofReaders.measure(name + "16 threads", 1, 16, TWICE_AS_MANY);
    ofReaders.measure(name + CLIENTS_EACH, CLIENTS, THREADS_EACH, TWICE_AS_MANY);
    Competitor<Locking> ourPermits =
        new Competitor<>(OURS, (uri, threads) -> Locking.permits(LockClient.open(uri), PERMITS));
    SharedTargets ofPermits = new SharedTargets(bench, requests, List.of(ourPermits, permits));
    String semaphore = "a semaphore of " + PERMITS + ", ";
    ofPermits.measure(semaphore + "1 thread", 1, 1, AS_MANY);
    ofPermits.measure(semaphore + PERMITS + " threads: one permit for each", 1, PERMITS, AS_MANY);
    ofPermits.measure(
        semaphore + 2 * PERMITS + " threads: half of them wait", 1, 2 * PERMITS, TWICE_AS_MANY);
    ofPermits.measure(semaphore + CLIENTS_EACH, CLIENTS, THREADS_EACH, TWICE_AS_MANY);
  }

  private void measure(String what, int clients, int threadsEach, Target target)
      throws InterruptedException {
    bench
        .cycles(what, clients, threadsEach, number -> "shared", requests, competitors)
        .ratio(Figure.CYCLES, competitors.get(1).name(), target);
  }
}
