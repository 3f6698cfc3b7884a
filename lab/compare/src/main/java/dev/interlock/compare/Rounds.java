package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;

/**
 * Measures contenders in interleaved rounds: each round goes through all contenders and begins with
 * another one, so that whatever disturbs the machine disturbs them all alike.
 *
 * @param <K> tells contenders apart
 */
public final class Rounds<K> {

  /** By how much the rates of two rounds of a contender that is warm differ at most. */
  private static final double MAX_CHANGE = 1.1;

  /**
   * The number of rounds. Before those that count, each contender warms up until two consecutive
   * rounds agree: a virtual machine compiles what has run often, and code that ran seldom looks
   * slow.
   *
   * @param rounds how many count
   * @param warmUps how many rounds of each contender before them do not, at least
   * @param enough how many locks a contender that is warm has acquired, at least
   * @param limit how long a contender warms up at most, beyond its {@code warmUps}
   */
  public record Plan(int rounds, int warmUps, int enough, Duration limit) {}

  /** Gets a contender ready. */
  @FunctionalInterface
  public interface Opener {
    /**
     * {@return what the contender does in each round}
     *
     * @throws Exception if it cannot take part
     */
    Trial open() throws Exception;
  }

  private final Plan plan;
  private final Series<K> series;
  private final BiConsumer<K, Throwable> failed;
  private final LongSupplier nanoTime;
  private final Map<K, Trial> trials = new LinkedHashMap<>();
  private final Map<K, WarmUp> warmUps = new HashMap<>();

  /**
   * Prepares a measurement.
   *
   * @param series gets what the rounds give, also if the measurement is interrupted
   * @param failed gets the failures; a contender that fails leaves the measurement
   */
  public Rounds(Plan plan, Series<K> series, BiConsumer<K, Throwable> failed) {
    this(plan, series, failed, System::nanoTime);
  }

  Rounds(Plan plan, Series<K> series, BiConsumer<K, Throwable> failed, LongSupplier nanoTime) {
    this.plan = plan;
    this.series = series;
    this.failed = failed;
    this.nanoTime = nanoTime;
  }

  /**
   * Opens the contenders, measures, and closes them.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public void measure(Map<K, ? extends Opener> contenders) throws InterruptedException {
    try {
      for (Map.Entry<K, ? extends Opener> each : contenders.entrySet()) {
        attempt(each.getKey(), () -> trials.put(each.getKey(), each.getValue().open()));
      }
      for (int number = 0; !trials.keySet().stream().allMatch(this::isWarm); number++) {
        round(number, true);
      }
      trials.values().forEach(Trial::warmedUp);
      for (int number = 0; number < plan.rounds; number++) {
        round(number, false);
      }
    } finally {
      boolean interrupted = Thread.interrupted();
      trials.forEach((contender, trial) -> close(contender, trial));
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Takes a contender out of the measurement. */
  public void leave(K contender) {
    series.remove(contender);
    Trial trial = trials.remove(contender);
    if (trial != null) {
      close(contender, trial);
    }
  }

  private void round(int number, boolean warming) throws InterruptedException {
    List<K> order = new ArrayList<>(trials.keySet());
    Collections.rotate(order, -number);
    for (K contender : order) {
      Trial trial = trials.get(contender);
      if (trial == null || (warming && isWarm(contender))) {
        continue;
      }
      attempt(
          contender,
          () -> {
            long start = nanoTime.getAsLong();
            Map<Figure, Double> figures = trial.round();
            if (warming) {
              double seconds = (nanoTime.getAsLong() - start) / 1e9;
              warmUps.compute(
                  contender,
                  (key, done) -> (done == null ? WarmUp.NONE : done).plus(figures, seconds));
            } else {
              series.add(contender, figures);
            }
          });
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  private boolean isWarm(K contender) {
    WarmUp done = warmUps.getOrDefault(contender, WarmUp.NONE);
    return done.rounds >= plan.warmUps
        && ((done.steady && done.locks >= plan.enough)
            || done.seconds >= plan.limit.toNanos() / 1e9);
  }

  private interface Step {
    void take() throws Exception;
  }

  private void attempt(K contender, Step step) throws InterruptedException {
    try {
      step.take();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      failed.accept(contender, e);
      leave(contender);
    }
  }

  private void close(K contender, Trial trial) {
    try {
      trial.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      failed.accept(contender, e);
    }
  }

  /** A contender's warm-up so far; steady if its last two rounds agree. */
  private record WarmUp(
      int rounds, double seconds, double locks, double perSecond, boolean steady) {
    static final WarmUp NONE = new WarmUp(0, 0, 0, Double.NaN, false);

    WarmUp plus(Map<Figure, Double> figures, double roundSeconds) {
      double rate =
          figures.getOrDefault(Figure.PAIRS, 0.0) + figures.getOrDefault(Figure.HANDOFFS, 0.0);
      return new WarmUp(
          rounds + 1,
          seconds + roundSeconds,
          locks + rate * roundSeconds,
          rate,
          Math.max(rate, perSecond) <= MAX_CHANGE * Math.min(rate, perSecond));
    }
  }
}
