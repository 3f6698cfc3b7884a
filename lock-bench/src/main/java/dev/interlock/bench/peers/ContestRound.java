package dev.interlock.bench.peers;

import dev.interlock.compare.Turns;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Threads of several clients that all want one name.
 *
 * @param clients the clients
 * @param threads how many threads each has
 * @param slice for how long
 * @param hold how long a thread has it before it gives it back
 * @param name the name
 * @param requests counts what reaches the server; null if nobody asks for that
 */
record ContestRound(
    List<WaitingContender> clients,
    int threads,
    Duration slice,
    Duration hold,
    String name,
    @Nullable RequestCounter requests)
    implements Round {

  /** With fewer turns for each thread, the index would be about luck. */
  private static final int LEAST_TURNS_EACH = 3;

  @Override
  public Map<Figure, Double> measure() throws Exception {
    int contenders = clients.size() * threads;
    long before = requests == null ? 0 : requests.requests();
    Turns turns =
        Turns.contend(
            (contender, atMost) -> clients.get(contender % clients.size()).acquire(name, atMost),
            contenders,
            slice,
            hold);
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    Histogram times = turns.handoffs();
    if (times.getTotalCount() > 0) {
      figures.put(Figure.HAND_OVER_P50, times.getValueAtPercentile(50) / 1e9);
      figures.put(Figure.HAND_OVER_MEAN, times.getMean() / 1e9);
      figures.put(Figure.HAND_OVER_P99, times.getValueAtPercentile(99) / 1e9);
    }
    figures.put(Figure.HAND_OVERS, turns.perSecond());
    if (turns.count() >= LEAST_TURNS_EACH * contenders) {
      figures.put(Figure.FAIRNESS, turns.fairness(contenders));
    }
    if (requests != null && turns.count() > 0) {
      figures.put(
          Figure.HAND_OVER_REQUESTS, (double) (requests.requests() - before) / turns.count());
    }
    return figures;
  }
}
