package dev.interlock.compare;

import dev.interlock.compare.baseline.Cycler;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * A trial with threads that acquire and release uncontended names, spread evenly over one or more
 * clients.
 *
 * @param clients closed with the trial
 * @param threads the number of threads of all clients together
 * @param slice the length of a round
 * @param names returns the next name for a thread
 * @param requests counts the requests that reach the server; null if they are not counted
 * @param all the durations of the cycles of all rounds, in nanoseconds
 */
record CycleTrial(
    List<? extends Cycler> clients,
    int threads,
    Duration slice,
    IntFunction<String> names,
    @Nullable RequestCounter requests,
    Histogram all)
    implements Trial {

  CycleTrial(
      List<? extends Cycler> clients,
      int threads,
      Duration slice,
      IntFunction<String> names,
      @Nullable RequestCounter requests) {
    this(clients, threads, slice, names, requests, new Histogram(3));
  }

  /**
   * Runs cycles for one slice. A cycle that is under way when the slice ends still counts, and so
   * does its time.
   */
  @Override
  public Map<Figure, Double> round() throws Exception {
    Histogram times = new ConcurrentHistogram(3);
    long requestsBefore = requests == null ? 0 : requests.requests();
    long processorBefore = ThisProcess.processorNanos();
    long start =
        Workers.work(
            threads,
            slice,
            (number, running) -> {
              Cycler client = clients.get(number % clients.size());
              do {
                String name = names.apply(number);
                long before = System.nanoTime();
                client.cycle(name);
                times.recordValue(System.nanoTime() - before);
              } while (running.getAsBoolean());
            });
    double seconds = (System.nanoTime() - start) / 1e9;
    double cycles = times.getTotalCount();
    all.add(times);
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    figures.put(Figure.CYCLE_P50, times.getValueAtPercentile(50) / 1e9);
    figures.put(Figure.CYCLE_P99, times.getValueAtPercentile(99) / 1e9);
    figures.put(Figure.CYCLES, cycles / seconds);
    figures.put(
        Figure.CYCLE_PROCESSOR_TIME,
        (ThisProcess.processorNanos() - processorBefore) / 1e9 / cycles);
    if (requests != null) {
      figures.put(Figure.CYCLE_REQUESTS, (requests.requests() - requestsBefore) / cycles);
    }
    return figures;
  }

  @Override
  public void forgetWarmUp() {
    all.reset();
  }

  @Override
  public void close() throws Exception {
    Trial.closeAll(clients);
  }
}
