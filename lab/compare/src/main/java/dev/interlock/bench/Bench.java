package dev.interlock.bench;

import dev.interlock.compare.rounds.ContentionTrial;
import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.PairTrial;
import dev.interlock.compare.rounds.Pairs;
import dev.interlock.compare.rounds.RequestCounter;
import dev.interlock.compare.rounds.Rounds;
import dev.interlock.compare.rounds.Series;
import dev.interlock.compare.rounds.Trial;
import dev.interlock.report.Failures;
import dev.interlock.report.Unit;
import dev.interlock.testbed.server.Deployment;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Measures on one store, and notes the results in its section of the report. */
final class Bench {
  private final Deployment deployment;
  private final Profile profile;
  private final Section section;
  private final PrintStream progress;

  Bench(Deployment deployment, Profile profile, Section section, PrintStream progress) {
    this.deployment = deployment;
    this.profile = profile;
    this.section = section;
    this.progress = progress;
  }

  Deployment deployment() {
    return deployment;
  }

  Profile profile() {
    return profile;
  }

  /** Compares what the rounds gave with its target. */
  void row(String what, Target target, List<Double> rounds) {
    section.row(what, target, rounds);
  }

  /** One thread that uses one name. */
  PairTrial alone(Pairs client, IntFunction<String> names) {
    return new PairTrial(List.of(client), 1, profile.pairs(), names, null);
  }

  /** One thread and one name, without contention. */
  Series<String> uncontended(
      @Nullable RequestCounter requests, List<? extends Competitor<?>> competitors)
      throws InterruptedException {
    return pairs("uncontended", 1, 1, number -> "own", requests, competitors);
  }

  /**
   * Threads of some clients of each contender, with uncontended names. Requests are counted for
   * locks only; what the bare calls send is known.
   */
  Series<String> pairs(
      String what,
      int clients,
      int threadsEach,
      IntFunction<String> names,
      @Nullable RequestCounter requests,
      List<? extends Competitor<?>> competitors)
      throws InterruptedException {
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    for (Competitor<?> competitor : competitors) {
      openers.put(
          competitor.name(),
          () -> {
            List<? extends Pairs> opened = open(competitor, clients, threadsEach);
            RequestCounter counter = opened.get(0) instanceof Locking ? requests : null;
            return new PairTrial(opened, clients * threadsEach, profile.pairs(), names, counter);
          });
    }
    return measure(what, openers);
  }

  private <C extends Pairs> List<C> open(Competitor<C> competitor, int clients, int threadsEach)
      throws Exception {
    List<C> opened = new ArrayList<>();
    try {
      for (int i = 0; i < clients; i++) {
        opened.add(competitor.opener().open(deployment.uri(), threadsEach));
      }
      return opened;
    } catch (Exception e) {
      Trial.closeAll(opened);
      throw e;
    }
  }

  /** Threads of several clients of each contender, which all want one name, and release at once. */
  Series<String> contention(
      int clients,
      int threads,
      @Nullable RequestCounter requests,
      List<Competitor<Locking>> competitors)
      throws InterruptedException {
    String what =
        clients == 1
            ? "one name, " + threads + " threads of one client"
            : "one name, " + clients + " clients × " + threads;
    return contention(what, clients, threads, Duration.ZERO, requests, competitors);
  }

  /** The same with two clients of one thread, each of which holds the name for a while. */
  Series<String> turnsOf(Duration hold, List<Competitor<Locking>> competitors)
      throws InterruptedException {
    String what = "one name, 2 clients × 1, each holding it for " + hold.toMillis() + " ms";
    return contention(what, 2, 1, hold, null, competitors);
  }

  private Series<String> contention(
      String what,
      int clients,
      int threads,
      Duration hold,
      @Nullable RequestCounter requests,
      List<Competitor<Locking>> competitors)
      throws InterruptedException {
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    for (Competitor<Locking> competitor : competitors) {
      openers.put(
          competitor.name(),
          () ->
              ContentionTrial.of(
                  open(competitor, clients, threads),
                  threads,
                  profile.contention(),
                  hold,
                  "hot",
                  requests));
    }
    return measure(what, openers);
  }

  /** Measures in interleaved rounds. */
  Series<String> measure(String what, Map<String, Rounds.Opener> openers)
      throws InterruptedException {
    return measure(what, profile.plan(), openers);
  }

  private Series<String> measure(
      String what, Rounds.Plan plan, Map<String, ? extends Rounds.Opener> openers)
      throws InterruptedException {
    progress.println(section.title() + ": " + what);
    Series<String> series = new Series<>(what);
    new Rounds<>(plan, series, (name, failure) -> failed(what, name, failure)).measure(openers);
    section.add(series);
    return series;
  }

  private void failed(String what, String name, Throwable failure) {
    String line = what + ", " + name + " failed: " + Failures.describe(failure);
    progress.println(section.title() + ": " + line);
    section.note(line);
  }

  /** A hundred threads of one client that want one name, of our lock and of those of others. */
  void hundredThreads(List<Competitor<Locking>> others) throws InterruptedException {
    List<Competitor<Locking>> competitors = new ArrayList<>(others);
    competitors.add(0, Competitor.ours());
    Series<String> series = contention(1, 100, null, competitors);
    Optional<String> best = series.highest(Figure.HANDOFFS, Competitor.OURS);
    row(
        "one name, 100 threads of one process: handoffs a second, to the best peer's"
            + best.map(name -> " (" + name + ")").orElse(""),
        Target.atLeast(10),
        best.map(name -> series.ratios(Figure.HANDOFFS, Competitor.OURS, name)).orElse(List.of()));
  }

  /** Waiters on ZooKeeper whose holders are killed, of our lock and of Curator's. */
  void takeovers(String curator) throws InterruptedException {
    AtomicInteger names = new AtomicInteger();
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    for (String name : List.of(Competitor.OURS, curator)) {
      openers.put(
          name,
          () ->
              () ->
                  ZooKeeperTakeover.measure(
                      name, deployment.uri(), "killed-" + names.incrementAndGet()));
    }
    Series<String> series = measure("the holder's process is killed", starts(0), openers);
    row(
        series.name() + ": until the next has the lock, to " + curator + "'s",
        Target.atMost(1.25),
        series.ratios(Figure.TAKEOVER, Competitor.OURS, curator));
  }

  /** A client in a new virtual machine, compared with its driver in another new one. */
  void starts() throws InterruptedException {
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    for (String name : List.of(ClientStart.DRIVER, Competitor.OURS)) {
      openers.put(name, () -> () -> ClientStart.measure(name, deployment.uri()));
    }
    // The first one reads the files from the disk.
    Series<String> series = measure("a client's start in a new process", starts(1), openers);
    row(
        "start: open and first lease, beyond the driver's own connect",
        Target.atMost(0.3, Unit.SECONDS),
        series.differences(Figure.START, Competitor.OURS, ClientStart.DRIVER));
  }

  private Rounds.Plan starts(int warmUps) {
    return new Rounds.Plan(profile.starts(), warmUps, 0, Duration.ZERO);
  }
}
