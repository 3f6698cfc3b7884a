package dev.interlock.compare;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * A trial with threads that all want one name.
 *
 * @param waiters the number of threads
 * @param contention lets the threads contend for the name once
 * @param requests counts the requests that reach the server; null if they are not counted
 * @param opened closed with the trial, in reverse order
 */
record ContentionTrial(
    int waiters,
    Callable<Holds> contention,
    @Nullable RequestCounter requests,
    List<? extends AutoCloseable> opened)
    implements Trial {

  /** With fewer holds per thread, Jain's index would be dominated by chance. */
  private static final int MIN_HOLDS_PER_WAITER = 3;

  /** {@return a trial with threads of several clients of this process} */
  static ContentionTrial of(
      List<? extends Locking> clients,
      int threads,
      Duration slice,
      Duration hold,
      String name,
      @Nullable RequestCounter requests) {
    int waiters = clients.size() * threads;
    return new ContentionTrial(
        waiters,
        () ->
            Holds.contend(
                (waiter, atMost) -> clients.get(waiter % clients.size()).acquire(name, atMost),
                waiters,
                slice,
                hold),
        requests,
        clients);
  }

  @Override
  public Map<Figure, Double> round() throws Exception {
    long before = requests == null ? 0 : requests.requests();
    Holds holds = contention.call();
    int count = holds.count();
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    figures.put(Figure.HANDOFFS, holds.perSecond());
    Histogram handoffs = holds.handoffs();
    if (handoffs.getTotalCount() > 0) {
      figures.put(Figure.HANDOFF_P50, handoffs.getValueAtPercentile(50) / 1e9);
      figures.put(Figure.HANDOFF_MEAN, handoffs.getMean() / 1e9);
      figures.put(Figure.HANDOFF_P99, handoffs.getValueAtPercentile(99) / 1e9);
    }
    Histogram waits = holds.waits();
    if (waits.getTotalCount() > 0) {
      figures.put(Figure.WAIT_P99, waits.getValueAtPercentile(99) / 1e9);
    }
    if (count >= MIN_HOLDS_PER_WAITER * waiters) {
      figures.put(Figure.FAIRNESS, holds.fairness(waiters));
    }
    if (requests != null && count > 0) {
      figures.put(Figure.HANDOFF_REQUESTS, (double) (requests.requests() - before) / count);
    }
    return figures;
  }

  @Override
  public void close() throws Exception {
    Trial.closeAll(opened);
  }
}
