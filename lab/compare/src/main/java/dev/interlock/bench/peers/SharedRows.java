package dev.interlock.bench.peers;

import dev.interlock.LockClient;
import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.RequestCounter;
import dev.interlock.compare.rounds.Series;
import dev.interlock.report.Unit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Readers of one name, and the permits of one semaphore, of our locks and of another library's. */
final class SharedRows {

  /** How many permits there are. */
  static final int PERMITS = 8;

  /** Where threads share or wait, a client can save requests. */
  private static final Target TWICE = Target.atLeast(2, Unit.RATIO);

  /** Elsewhere there is no request to be saved on Redis. */
  private static final Target AS_MANY = Target.atLeast(1, Unit.RATIO);

  private static final int CLIENTS = 4;
  private static final int THREADS_EACH = 4;

  private SharedRows() {}

  static void measure(
      Bench bench, @Nullable RequestCounter requests, Peer<Locking> readers, Peer<Locking> permits)
      throws InterruptedException {
    for (int threads : new int[] {1, 16}) {
      String what = "readers of one name, " + threads + (threads == 1 ? " thread" : " threads");
      Target target = threads == 1 ? AS_MANY : TWICE;
      measure(bench, what, threads, target, requests, ourReaders(), readers);
    }
    measure(
        bench,
        "readers of one name, " + CLIENTS + " clients × " + THREADS_EACH,
        CLIENTS * THREADS_EACH,
        TWICE,
        requests,
        SeveralClients.of(CLIENTS, ourReaders()),
        SeveralClients.of(CLIENTS, readers));
    String semaphore = "a semaphore of " + PERMITS;
    measure(bench, semaphore + ", 1 thread", 1, AS_MANY, requests, ourPermits(), permits);
    measure(
        bench,
        semaphore + ", " + PERMITS + " threads: one permit for each",
        PERMITS,
        AS_MANY,
        requests,
        ourPermits(),
        permits);
    measure(
        bench,
        semaphore + ", " + 2 * PERMITS + " threads: half of them wait",
        2 * PERMITS,
        TWICE,
        requests,
        ourPermits(),
        permits);
    measure(
        bench,
        semaphore + ", " + CLIENTS + " clients × " + THREADS_EACH,
        CLIENTS * THREADS_EACH,
        TWICE,
        requests,
        SeveralClients.of(CLIENTS, ourPermits()),
        SeveralClients.of(CLIENTS, permits));
  }

  private static void measure(
      Bench bench,
      String what,
      int threads,
      Target target,
      @Nullable RequestCounter requests,
      Peer<Locking> ours,
      Peer<Locking> theirs)
      throws InterruptedException {
    Series<String> series =
        bench.pairs(what, threads, number -> "shared", requests, List.of(ours, theirs));
    bench.row(
        what + ": pairs a second, to those of " + theirs.name(),
        target,
        series.ratios(Figure.PAIRS, ours.name(), theirs.name()));
  }

  private static Peer<Locking> ourReaders() {
    return new Peer<>(Peer.OURS, (uri, threads) -> Locking.readersBy(LockClient.open(uri)));
  }

  private static Peer<Locking> ourPermits() {
    return new Peer<>(
        Peer.OURS, (uri, threads) -> Locking.permitsBy(LockClient.open(uri), PERMITS));
  }
}
