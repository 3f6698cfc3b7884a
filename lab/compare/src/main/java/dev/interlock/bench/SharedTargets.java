package dev.interlock.bench;

import static dev.interlock.bench.Competitor.OURS;
import static dev.interlock.bench.Target.atLeast;
import static dev.interlock.compare.rounds.Figure.PAIRS;

import dev.interlock.LockClient;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.RequestCounter;
import dev.interlock.compare.rounds.Series;
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

  private SharedTargets() {}

  static void measure(
      Bench bench,
      @Nullable RequestCounter requests,
      Competitor<Locking> readers,
      Competitor<Locking> permits)
      throws InterruptedException {
    Rows ofReaders = new Rows(bench, requests, "readers of one name, ", ourReaders(), readers);
    ofReaders.measure("1 thread", 1, 1, AS_MANY);
    ofReaders.measure("16 threads", 1, 16, TWICE);
    ofReaders.measure(CLIENTS + " clients × " + THREADS_EACH, CLIENTS, THREADS_EACH, TWICE);
    Rows ofPermits =
        new Rows(bench, requests, "a semaphore of " + PERMITS + ", ", ourPermits(), permits);
    ofPermits.measure("1 thread", 1, 1, AS_MANY);
    ofPermits.measure(PERMITS + " threads: one permit for each", 1, PERMITS, AS_MANY);
    ofPermits.measure(2 * PERMITS + " threads: half of them wait", 1, 2 * PERMITS, TWICE);
    ofPermits.measure(CLIENTS + " clients × " + THREADS_EACH, CLIENTS, THREADS_EACH, TWICE);
  }

  /** What is measured of two contenders, under several circumstances. */
  private record Rows(
      Bench bench,
      @Nullable RequestCounter requests,
      String of,
      Competitor<Locking> ours,
      Competitor<Locking> theirs) {

    void measure(String by, int clients, int threadsEach, Target target)
        throws InterruptedException {
      Series<String> series =
          bench.pairs(
              of + by, clients, threadsEach, number -> "shared", requests, List.of(ours, theirs));
      bench.row(
          of + by + ": pairs a second, to those of " + theirs.name(),
          target,
          series.ratios(PAIRS, OURS, theirs.name()));
    }
  }

  private static Competitor<Locking> ourReaders() {
    return new Competitor<>(OURS, (uri, threads) -> Locking.readersBy(LockClient.open(uri)));
  }

  private static Competitor<Locking> ourPermits() {
    return new Competitor<>(
        OURS, (uri, threads) -> Locking.permitsBy(LockClient.open(uri), PERMITS));
  }
}
