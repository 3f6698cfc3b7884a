package dev.interlock.compare;

import dev.interlock.compare.baseline.Pairs;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Threads that acquire and release uncontended names, spread evenly over some clients.
 *
 * @param clients closed with the trial
 * @param threads how many of all clients together
 * @param slice how long a round lasts
 * @param names the next name of a thread
 * @param requests counts what reaches the server; null if requests are not counted
 * @param all how long the pairs of all rounds took, in nanoseconds
 */
record PairTrial(
    List<? extends Pairs> clients,
    int threads,
    Duration slice,
    IntFunction<String> names,
    @Nullable RequestCounter requests,
    Histogram all)
    implements Trial {

  PairTrial(
      List<? extends Pairs> clients,
      int threads,
      Duration slice,
      IntFunction<String> names,
      @Nullable RequestCounter requests) {
    this(clients, threads, slice, names, requests, new Histogram(3));
  }

  /** A pair that is under way when the time is over still counts, and so does its time. */
  @Override
  public Map<Figure, Double> round() throws Exception {
    Histogram times = new ConcurrentHistogram(3);
    long requestsBefore = requests == null ? 0 : requests.requests();
    long processorBefore = OwnProcess.processorNanos();
    long start =
        Workers.work(
            threads,
            slice,
            (number, goesOn) -> {
              Pairs client = clients.get(number % clients.size());
              do {
                String name = names.apply(number);
                long before = System.nanoTime();
                client.pair(name);
                times.recordValue(System.nanoTime() - before);
              } while (goesOn.getAsBoolean());
            });
    double seconds = (System.nanoTime() - start) / 1e9;
    double pairs = times.getTotalCount();
    all.add(times);
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    figures.put(Figure.PAIR_P50, times.getValueAtPercentile(50) / 1e9);
    figures.put(Figure.PAIR_P99, times.getValueAtPercentile(99) / 1e9);
    figures.put(Figure.PAIRS, pairs / seconds);
    figures.put(Figure.PROCESSOR, (OwnProcess.processorNanos() - processorBefore) / 1e9 / pairs);
    if (requests != null) {
      figures.put(Figure.PAIR_REQUESTS, (requests.requests() - requestsBefore) / pairs);
    }
    return figures;
  }

  @Override
  public void warmedUp() {
    all.reset();
  }

  @Override
  public void close() throws Exception {
    Trial.closeAll(clients);
  }
}
