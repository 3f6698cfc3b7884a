package dev.interlock.compare;

import static dev.interlock.compare.Competitor.OURS;
import static dev.interlock.compare.Target.atLeast;

import dev.interlock.LockClient;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Readers of one name, and the permits of one semaphore, of our locks and of another library's. */
final class SharedTargets {

  /** How many permits there are. */
  static final int PERMITS = 8;

  /** Where threads share or wait, a client can save requests. */
  private static final Target TWICE = atLeast(2);

  /** Elsewhere there is no request to be saved on Redis. */
  private static final Target AS_MANY = atLeast(1);

  private static final int CLIENTS = 4;
  private static final int THREADS_EACH = 4;

  private final Bench bench;
  private final @Nullable RequestCounter requests;
  private final List<Competitor<Locking>> competitors;

  private SharedTargets(
      Bench bench,
      @Nullable RequestCounter requests,
      Competitor.Opener<Locking> ours,
      Competitor<Locking> theirs) {
    this.bench = bench;
    this.requests = requests;
    this.competitors = List.of(new Competitor<>(OURS, ours), theirs);
  }

  static void measure(
      Bench bench,
      @Nullable RequestCounter requests,
      Competitor<Locking> readers,
      Competitor<Locking> permits)
      throws InterruptedException {
    SharedTargets ofReaders =
        new SharedTargets(
            bench, requests, (uri, threads) -> Locking.readersBy(LockClient.open(uri)), readers);
    ofReaders.measure("readers of one name, 1 thread", 1, 1, AS_MANY);
    ofReaders.measure("readers of one name, 16 threads", 1, 16, TWICE);
    ofReaders.measure(
        "readers of one name, " + CLIENTS + " clients × " + THREADS_EACH,
        CLIENTS,
        THREADS_EACH,
        TWICE);
    SharedTargets ofPermits =
        new SharedTargets(
            bench,
            requests,
            (uri, threads) -> Locking.permitsBy(LockClient.open(uri), PERMITS),
            permits);
    String semaphore = "a semaphore of " + PERMITS + ", ";
    ofPermits.measure(semaphore + "1 thread", 1, 1, AS_MANY);
    ofPermits.measure(semaphore + PERMITS + " threads: one permit for each", 1, PERMITS, AS_MANY);
    ofPermits.measure(
        semaphore + 2 * PERMITS + " threads: half of them wait", 1, 2 * PERMITS, TWICE);
    ofPermits.measure(
        semaphore + CLIENTS + " clients × " + THREADS_EACH, CLIENTS, THREADS_EACH, TWICE);
  }

  private void measure(String what, int clients, int threadsEach, Target target)
      throws InterruptedException {
    bench
        .pairs(what, clients, threadsEach, number -> "shared", requests, competitors)
        .ratio(Figure.PAIRS, competitors.get(1).name(), target);
  }
}
