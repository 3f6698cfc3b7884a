package dev.interlock.bench.peers;

import dev.interlock.bench.ProcessorTime;
import dev.interlock.compare.Crew;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.IntFunction;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Threads of one client that take and give back names which nobody else wants.
 *
 * @param contender the client
 * @param threads how many
 * @param slice for how long
 * @param names the next name of a thread
 * @param requests counts what reaches the server; null if nobody asks for that
 */
record PairRound(
    Contender contender,
    int threads,
    Duration slice,
    IntFunction<String> names,
    @Nullable RequestCounter requests)
    implements Round {

  @Override
  public Map<Figure, Double> measure() throws Exception {
    Histogram times = new ConcurrentHistogram(3);
    long requestsBefore = requests == null ? 0 : requests.requests();
    long processorBefore = ProcessorTime.nanos();
    long start =
        Crew.work(
            threads,
            slice,
            (number, goesOn) -> {
              do {
                String name = names.apply(number);
                long before = System.nanoTime();
                contender.pair(name);
                times.recordValue(System.nanoTime() - before);
              } while (goesOn.getAsBoolean());
            });
    double seconds = (System.nanoTime() - start) / 1e9;
    double pairs = times.getTotalCount();
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    figures.put(Figure.PAIR_P50, times.getValueAtPercentile(50) / 1e9);
    figures.put(Figure.PAIRS, pairs / seconds);
    figures.put(Figure.PROCESSOR, (ProcessorTime.nanos() - processorBefore) / 1e9 / pairs);
    if (requests != null) {
      figures.put(Figure.PAIR_REQUESTS, (requests.requests() - requestsBefore) / pairs);
    }
    return figures;
  }
}
