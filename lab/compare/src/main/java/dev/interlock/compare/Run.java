package dev.interlock.compare;

import dev.interlock.LockUnavailableException;
import dev.interlock.compare.baseline.Pairs;
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
 * One scenario under way: the backends that take part, and where the results go.
 *
 * @param among all backends, also those that do not answer any more
 * @param say shows a line to the user
 */
record Run(
    Scenario scenario,
    Profile profile,
    List<OpenContender> among,
    Results results,
    Consumer<String> say) {

  /** What takes part in interleaved rounds: a backend's lock, or the bare driver of its store. */
  record Side(OpenContender contender, boolean baseline) {}

  /** Gets one backend ready. */
  @FunctionalInterface
  interface Opener {
    Trial open(OpenContender contender) throws Exception;
  }

  /** Does something with a backend, or with the network in front of it. */
  @FunctionalInterface
  interface Work<T> {
    void on(T it) throws Exception;
  }

  /** Records the results of the rounds for one backend. */
  @FunctionalInterface
  interface Report {
    void of(OpenContender contender, Series<Side> series, Side lock, Side baseline);
  }

  /** The backends that still answer. */
  List<OpenContender> contenders() {
    return answering(among);
  }

  private static List<OpenContender> answering(List<OpenContender> contenders) {
    return contenders.stream().filter(contender -> !contender.isGone()).toList();
  }

  /**
   * Does something with a network in front of a backend; where there is none, the report says so.
   */
  void onNetwork(OpenContender contender, Work<Network> work) throws Exception {
    Optional<Network> found = contender.network();
    if (found.isEmpty()) {
      skip(contender, "it has no network, or its clients bypass the proxy");
      return;
    }
    try (Network network = found.get()) {
      work.on(network);
    }
  }

  /** Notes that the scenario makes no sense on a backend. */
  void skip(OpenContender contender, String why) {
    gap(contender, Results.Reason.NOT_APPLICABLE, why);
  }

  /** Notes that something is not shown. */
  void gap(OpenContender contender, Results.Reason reason, String why) {
    results.gaps().add(new Results.Gap(scenario.id(), contender.name(), reason, why));
  }

  /** Notes that something went wrong. A store that does not answer is left alone from now on. */
  void failed(OpenContender contender, Throwable failure) {
    if (contender.isGone()) {
      return;
    }
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (at instanceof LockUnavailableException) {
        contender.markGone();
      }
    }
    String text = Failures.describe(failure);
    gap(contender, Results.Reason.FAILED, text);
    say.accept(contender + ", " + scenario.id() + ": " + text);
  }

  void measured(OpenContender contender, Metric metric, @Nullable Point at, List<Double> rounds) {
    results.measured(scenario.id(), contender.name(), metric, at, rounds);
  }

  void measured(OpenContender contender, Metric metric, double... rounds) {
    measured(contender, metric, null, Arrays.stream(rounds).boxed().toList());
  }

  /** As {@link #measured}, for a ratio: it is not shown if its rounds are short or disagree. */
  void ratio(OpenContender contender, Metric metric, @Nullable Point at, List<Double> rounds) {
    if (profile.ratios()) {
      results.ratio(scenario.id(), contender.name(), metric, at, rounds);
    }
  }

  /** Notes events, each with the nanoseconds since the first one, in their order. */
  void timeLine(OpenContender contender, Map<String, Long> events) {
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

  /** Threads of one client that acquire and release uncontended names. */
  PairTrial pairs(Pairs client, int threads, IntFunction<String> names) {
    return new PairTrial(List.of(client), threads, profile.slice(), names, null);
  }

  /** Threads of one client that acquire and release one name. */
  PairTrial pairs(OpenContender contender, Pairs client, int threads) {
    String name = contender.newName();
    return pairs(client, threads, number -> name);
  }

  /**
   * Measures in interleaved rounds.
   *
   * @param among the backends that take part
   * @param enough how many locks each acquires, at least, to warm up
   * @param locks what a backend's lock does
   * @param baselines what the bare driver does, for the stores that have one; null without
   *     baselines
   */
  void interleaved(
      List<OpenContender> among,
      int enough,
      Opener locks,
      @Nullable Opener baselines,
      Report report)
      throws InterruptedException {
    Map<Side, Rounds.Opener> openers = new LinkedHashMap<>();
    for (OpenContender contender : answering(among)) {
      openers.put(new Side(contender, false), () -> locks.open(contender));
      if (baselines != null && contender.driver().isPresent()) {
        openers.put(new Side(contender, true), () -> baselines.open(contender));
      }
    }
    Series<Side> series = new Series<>(scenario.id());
    try {
      new Rounds<>(profile.plan(enough), series, this::failed).measure(openers);
    } finally {
      for (OpenContender contender : answering(among)) {
        report.of(contender, series, new Side(contender, false), new Side(contender, true));
      }
    }
  }

  private void failed(Side side, Throwable failure) {
    if (!side.baseline) {
      failed(side.contender, failure);
    } else if (!side.contender.isGone()) { // the locks are what matters
      say.accept(side.contender + ", no baseline: " + Failures.describe(failure));
    }
  }

  /** Does something with all backends at the same time: for scenarios that mostly wait. */
  void together(Work<OpenContender> work) throws InterruptedException {
    ExecutorService threads = Executors.newCachedThreadPool(Run::thread);
    try {
      List<OpenContender> started = contenders();
      List<Future<?>> running = new ArrayList<>();
      for (OpenContender contender : started) {
        running.add(
            threads.submit(
                () -> {
                  work.on(contender);
                  return null;
                }));
      }
      for (int i = 0; i < running.size(); i++) {
        try {
          running.get(i).get();
        } catch (ExecutionException e) {
          failed(started.get(i), e.getCause() == null ? e : e.getCause());
        }
      }
    } finally {
      threads.shutdownNow();
      awaitEnd(threads);
    }
  }

  private static void awaitEnd(ExecutorService threads) throws InterruptedException {
    if (!threads.awaitTermination(20, TimeUnit.SECONDS)) {
      throw new IllegalStateException("a scenario does not end although it was interrupted");
    }
  }

  /** A daemon that finds services and classes as the thread that makes it does. */
  static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "compare");
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.setDaemon(true);
    return thread;
  }

  /** One backend after the other. */
  void oneByOne(Work<OpenContender> work) throws InterruptedException {
    for (OpenContender contender : contenders()) {
      try {
        work.on(contender);
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception | LinkageError e) {
        failed(contender, e);
      }
    }
  }
}
