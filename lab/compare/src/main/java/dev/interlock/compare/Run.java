package dev.interlock.compare;

import dev.interlock.LockUnavailableException;
import dev.interlock.compare.baseline.Cycler;
import dev.interlock.report.Failures;
import dev.interlock.tck.fault.Network;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A run of one scenario, with the backends that take part. It records the results.
 *
 * @param all all backends, including those that no longer answer
 * @param showLine shows a line to the user
 */
record Run(
    Scenario scenario,
    Profile profile,
    List<OpenContender> all,
    Results results,
    Consumer<String> showLine) {

  /**
   * A participant of interleaved rounds: the lock of a backend, or the bare driver of its store.
   */
  record Side(OpenContender contender, boolean baseline) {}

  /** Opens a trial for a backend. */
  @FunctionalInterface
  interface Opener {
    Trial open(OpenContender contender) throws Exception;
  }

  /** An action on a backend, or on the network in front of it. */
  @FunctionalInterface
  interface Work<T> {
    void accept(T target) throws Exception;
  }

  /** Records the results of the rounds for one backend. */
  @FunctionalInterface
  interface Report {
    void report(OpenContender contender, Series<Side> series, Side lock, Side baseline);
  }

  /** {@return the backends that still answer} */
  List<OpenContender> contenders() {
    return answering(all);
  }

  private static List<OpenContender> answering(List<OpenContender> contenders) {
    return contenders.stream().filter(contender -> !contender.isGone()).toList();
  }

  /**
   * Runs an action on a network in front of a backend. If there is no network, the report says so.
   */
  void onNetwork(OpenContender contender, Work<Network> work) throws Exception {
    Optional<Network> found = contender.network();
    if (found.isEmpty()) {
      skip(contender, "it uses no network, or its clients bypass the proxy");
      return;
    }
    try (Network network = found.get()) {
      work.accept(network);
    }
  }

  /** Records that the scenario does not apply to a backend. */
  void skip(OpenContender contender, String why) {
    recordGap(contender, Results.Reason.NOT_APPLICABLE, why);
  }

  /** Records that a value is missing. */
  void recordGap(OpenContender contender, Results.Reason reason, String why) {
    results.gaps().add(new Results.Gap(scenario.id(), contender.name(), reason, why));
  }

  /**
   * Records and shows a failure. A store that does not answer is excluded from all further
   * measurements.
   */
  void reportFailure(OpenContender contender, Throwable failure) {
    if (contender.isGone()) {
      return;
    }
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (at instanceof LockUnavailableException) {
        contender.markGone();
      }
    }
    String text = Failures.describe(failure);
    recordGap(contender, Results.Reason.FAILED, text);
    showLine.accept(contender + ", " + scenario.id() + ": " + text);
  }

  void record(OpenContender contender, Metric metric, @Nullable Point at, List<Double> rounds) {
    results.add(scenario.id(), contender.name(), metric, at, rounds);
  }

  void record(OpenContender contender, Metric metric, double... rounds) {
    record(contender, metric, null, Arrays.stream(rounds).boxed().toList());
  }

  /**
   * Records a ratio, unless the rounds of the profile are too short. If the rounds differ too much,
   * this records a gap instead.
   */
  void recordRatio(
      OpenContender contender, Metric metric, @Nullable Point at, List<Double> rounds) {
    if (profile.ratios()) {
      results.addRatio(scenario.id(), contender.name(), metric, at, rounds);
    }
  }

  /** Records events with their {@link System#nanoTime}; the map begins with the first event. */
  void recordTimeLine(OpenContender contender, Map<String, Long> events) {
    long begin = events.values().iterator().next();
    results
        .timeLines()
        .add(
            new Results.TimeLine(
                scenario.id(),
                contender.name(),
                events.entrySet().stream()
                    .map(
                        event ->
                            new Results.TimeLine.Event(
                                Math.max(0, event.getValue() - begin) / 1e9, event.getKey()))
                    .sorted(Comparator.comparingDouble(Results.TimeLine.Event::seconds))
                    .toList()));
  }

  /** {@return a trial with threads that acquire and release uncontended names} */
  CycleTrial cycles(Cycler client, int threads, IntFunction<String> names) {
    return new CycleTrial(List.of(client), threads, profile.slice(), names, null);
  }

  /** {@return a trial with threads that acquire and release one name} */
  CycleTrial cycles(OpenContender contender, Cycler client, int threads) {
    String name = contender.newName();
    return cycles(client, threads, number -> name);
  }

  /**
   * Measures in interleaved rounds.
   *
   * @param all the backends that take part
   * @param minLocks the minimum number of locks that each acquires to warm up
   * @param locks opens the lock of a backend
   * @param baselines opens the bare driver of a store that has one; null to measure no baselines
   */
  void interleaved(
      List<OpenContender> all,
      int minLocks,
      Opener locks,
      @Nullable Opener baselines,
      Report report)
      throws InterruptedException {
    Map<Side, Rounds.Opener> openers = new LinkedHashMap<>();
    for (OpenContender contender : answering(all)) {
      openers.put(new Side(contender, false), () -> locks.open(contender));
      if (baselines != null && contender.driver().isPresent()) {
        openers.put(new Side(contender, true), () -> baselines.open(contender));
      }
    }
    Series<Side> series = new Series<>(scenario.id());
    try {
      new Rounds<>(profile.plan(minLocks), series, this::reportFailure).measure(openers);
    } finally {
      for (OpenContender contender : answering(all)) {
        report.report(contender, series, new Side(contender, false), new Side(contender, true));
      }
    }
  }

  private void reportFailure(Side side, Throwable failure) {
    if (!side.baseline) {
      reportFailure(side.contender, failure);
    } else if (!side.contender.isGone()) { // a missing baseline does not exclude the lock
      showLine.accept(side.contender + ": the baseline failed: " + Failures.describe(failure));
    }
  }

  /** Runs an action on all backends concurrently, for scenarios that mostly wait. */
  void inParallel(Work<OpenContender> work) throws InterruptedException {
    ExecutorService threads = Executors.newCachedThreadPool(Run::thread);
    try {
      List<OpenContender> started = contenders();
      List<Future<?>> running = new ArrayList<>();
      for (OpenContender contender : started) {
        running.add(
            threads.submit(
                () -> {
                  work.accept(contender);
                  return null;
                }));
      }
      for (int i = 0; i < running.size(); i++) {
        try {
          running.get(i).get();
        } catch (ExecutionException e) {
          reportFailure(started.get(i), e.getCause() == null ? e : e.getCause());
        }
      }
    } finally {
      threads.shutdownNow();
      awaitEnd(threads);
    }
  }

  private static void awaitEnd(ExecutorService threads) throws InterruptedException {
    if (!threads.awaitTermination(20, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the scenario did not end within 20 s after its interrupt");
    }
  }

  /** {@return a daemon thread with the context class loader of its creator} */
  static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "compare");
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.setDaemon(true);
    return thread;
  }

  /** Runs an action on one backend after the other. */
  void inTurn(Work<OpenContender> work) throws InterruptedException {
    for (OpenContender contender : contenders()) {
      try {
        work.accept(contender);
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception | LinkageError e) {
        reportFailure(contender, e);
      }
    }
  }
}
