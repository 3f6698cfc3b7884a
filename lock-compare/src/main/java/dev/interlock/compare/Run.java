package dev.interlock.compare;

import dev.interlock.LockUnavailableException;
import dev.interlock.report.Failures;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One scenario under way: the backends that take part, and where the results go. */
final class Run {

  /** Makes what is measured on one backend. */
  @FunctionalInterface
  interface TrialFactory {
    List<? extends Trial> on(Subject subject) throws Exception;
  }

  /** Does something with one backend. */
  @FunctionalInterface
  interface Work {
    void on(Subject subject) throws Exception;
  }

  private final Scenario scenario;
  private final Effort effort;
  private final List<Subject> subjects;
  private final Results results;
  private final Consumer<String> say;

  Run(
      Scenario scenario,
      Effort effort,
      List<Subject> subjects,
      Results results,
      Consumer<String> say) {
    this.scenario = scenario;
    this.effort = effort;
    this.subjects = List.copyOf(subjects);
    this.results = results;
    this.say = say;
  }

  Effort effort() {
    return effort;
  }

  Results results() {
    return results;
  }

  /** The backends that still answer. */
  List<Subject> subjects() {
    return subjects.stream().filter(subject -> !subject.isGone()).toList();
  }

  /** Notes that the scenario makes no sense on a backend. */
  void skip(Subject subject, String why) {
    results.add(new Results.Gap(scenario.id(), subject.name(), Results.Reason.NOT_APPLICABLE, why));
  }

  /** Notes that something went wrong. A store that does not answer is left alone from now on. */
  void failed(Subject subject, Throwable failure) {
    if (subject.isGone()) {
      return;
    }
    if (isUnavailable(failure)) {
      subject.markGone();
    }
    String text = Failures.describe(failure);
    results.add(new Results.Gap(scenario.id(), subject.name(), Results.Reason.FAILED, text));
    say.accept(subject + ", " + scenario.id() + ": " + text);
  }

  private static boolean isUnavailable(Throwable failure) {
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (at instanceof LockUnavailableException) {
        return true;
      }
    }
    return false;
  }

  void measured(Subject subject, Metric metric, Point point, List<Double> rounds) {
    if (!rounds.isEmpty()) {
      results.add(Measurement.ofRounds(scenario.id(), subject.name(), metric, point, rounds));
    }
  }

  void measured(Subject subject, Metric metric, List<Double> rounds) {
    measured(subject, metric, Point.ONLY, rounds);
  }

  /** Holds one quantity against another, wherever both were measured. */
  void ratio(Metric ratio, Metric of, Metric to) {
    for (Measurement one : results.measurements()) {
      if (one.scenario().equals(scenario.id()) && one.metric().equals(of)) {
        results
            .find(one.scenario(), one.backend(), to, one.point())
            .filter(other -> other.value() > 0)
            .ifPresent(other -> results.add(against(ratio, one, other)));
      }
    }
  }

  /** Round by round, so that what disturbed one round disturbs one ratio. */
  private static Measurement against(Metric ratio, Measurement one, Measurement other) {
    List<Double> rounds = new ArrayList<>();
    for (int i = 0; i < Math.min(one.rounds().size(), other.rounds().size()); i++) {
      rounds.add(one.rounds().get(i) / other.rounds().get(i));
    }
    return Measurement.ofRounds(one.scenario(), one.backend(), ratio, one.point(), rounds);
  }

  void timeLine(Subject subject, List<Results.TimeLine.Event> events) {
    results.add(new Results.TimeLine(scenario.id(), subject.name(), events));
  }

  /**
   * Measures in interleaved rounds: each goes through all backends, and begins with another one, so
   * that whatever disturbs the machine disturbs them all alike. The first round is for warming up.
   */
  void interleaved(TrialFactory factory) throws InterruptedException {
    List<Trial> trials = new ArrayList<>();
    try {
      for (Subject subject : subjects()) {
        try {
          trials.addAll(factory.on(subject));
        } catch (InterruptedException e) {
          throw e;
        } catch (Exception | LinkageError e) {
          failed(subject, e);
        }
      }
      for (int round = 0; round <= effort.rounds(); round++) {
        round(trials, round);
      }
    } finally {
      for (Trial trial : trials) {
        if (!trial.subject().isGone()) {
          trial.report(results);
        }
        trial.close();
      }
    }
  }

  private void round(List<Trial> trials, int number) throws InterruptedException {
    List<Trial> turn = new ArrayList<>(trials);
    if (!turn.isEmpty()) {
      Collections.rotate(turn, -number);
    }
    for (Trial trial : turn) {
      if (trial.subject().isGone()) {
        continue;
      }
      try {
        trial.round(effort.slice(), number == 0);
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception | LinkageError e) {
        failed(trial.subject(), e);
        trials.remove(trial);
        trial.close();
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  /** Does something with all backends at the same time: for scenarios that mostly wait. */
  void together(Work work) throws InterruptedException {
    ExecutorService threads = Executors.newCachedThreadPool(Run::thread);
    try {
      List<Subject> started = subjects();
      List<Future<?>> running = new ArrayList<>();
      for (Subject subject : started) {
        running.add(
            threads.submit(
                () -> {
                  work.on(subject);
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

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "compare-" + work.hashCode());
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.setDaemon(true);
    return thread;
  }

  /** One backend after the other. */
  void oneByOne(Work work) throws InterruptedException {
    for (Subject subject : subjects()) {
      try {
        work.on(subject);
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception | LinkageError e) {
        failed(subject, e);
      }
    }
  }
}
