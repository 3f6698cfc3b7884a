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
 * Measures contenders in interleaved rounds. Each round measures all contenders in turn and begins
 * with a different one, so that disturbances of the machine affect all of them alike.
 *
 * @param <K> identifies contenders
 */
public final class Rounds<K> {

  /**
   * The maximum ratio of the rates of two consecutive rounds after which a contender counts as
   * warm.
   */
  private static final double MAX_RATE_RATIO = 1.1;

  /**
   * The number of rounds, and the warm-up. Before the rounds that count, each contender warms up
   * until two consecutive rounds agree, because the JVM has then compiled its code.
   *
   * @param rounds the number of rounds that count
   * @param minWarmUps the minimum number of warm-up rounds
   * @param minLocks the minimum number of locks that a contender acquires to warm up
   * @param maxWarmUp the time after which the warm-up ends even if rounds differ; {@code
   *     minWarmUps} rounds take place in any case
   */
  public record Plan(int rounds, int minWarmUps, int minLocks, Duration maxWarmUp) {}

  /** Opens a contender. */
  @FunctionalInterface
  public interface Opener {
    /**
     * {@return the trial that measures the contender}
     *
     * @throws Exception if it cannot take part
     */
    Trial open() throws Exception;
  }

  private final Plan plan;
  private final Series<K> series;
  private final BiConsumer<K, Throwable> onFailure;
  private final LongSupplier nanoTime;
  private final Map<K, Trial> trials = new LinkedHashMap<>();
  private final Map<K, WarmUp> warmUps = new HashMap<>();

  /**
   * Prepares a measurement.
   *
   * @param series receives the figures of each round
   * @param onFailure receives the failures; a contender that fails is removed
   */
  public Rounds(Plan plan, Series<K> series, BiConsumer<K, Throwable> onFailure) {
    this(plan, series, onFailure, System::nanoTime);
  }

  Rounds(Plan plan, Series<K> series, BiConsumer<K, Throwable> onFailure, LongSupplier nanoTime) {
    this.plan = plan;
    this.series = series;
    this.onFailure = onFailure;
    this.nanoTime = nanoTime;
  }

  /**
   * Opens the contenders, measures them, and closes them. After an interrupt, the series has the
   * rounds up to then.
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
      trials.values().forEach(Trial::forgetWarmUp);
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

  /** Removes a contender and its results from the measurement. */
  public void remove(K contender) {
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
                  (key, warmUp) -> (warmUp == null ? WarmUp.NONE : warmUp).plus(figures, seconds));
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
    WarmUp warmUp = warmUps.getOrDefault(contender, WarmUp.NONE);
    return warmUp.rounds >= plan.minWarmUps
        && ((warmUp.steady && warmUp.locks >= plan.minLocks)
            || warmUp.seconds >= plan.maxWarmUp.toNanos() / 1e9);
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
      onFailure.accept(contender, e);
      remove(contender);
    }
  }

  private void close(K contender, Trial trial) {
    try {
      trial.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      onFailure.accept(contender, e);
    }
  }

  /** The warm-up of a contender so far; {@code steady} if its last two rounds agree. */
  private record WarmUp(
      int rounds, double seconds, double locks, double perSecond, boolean steady) {
    static final WarmUp NONE = new WarmUp(0, 0, 0, Double.NaN, false);

    WarmUp plus(Map<Figure, Double> figures, double roundSeconds) {
      double rate =
          figures.getOrDefault(Figure.CYCLES, 0.0) + figures.getOrDefault(Figure.HANDOFFS, 0.0);
      return new WarmUp(
          rounds + 1,
          seconds + roundSeconds,
          locks + rate * roundSeconds,
          rate,
          Math.max(rate, perSecond) <= MAX_RATE_RATIO * Math.min(rate, perSecond));
    }
  }
}
