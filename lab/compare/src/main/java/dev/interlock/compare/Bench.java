package dev.interlock.compare;

import dev.interlock.compare.baseline.Cycler;
import dev.interlock.report.Failures;
import dev.interlock.report.Unit;
import dev.interlock.testbed.server.Deployment;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Measures contenders on one store and records the results in the section of that store.
 *
 * @param deployment the store's servers
 * @param profile the number and length of rounds
 * @param section the section of the report
 * @param progress receives a line for each measurement
 */
record Bench(Deployment deployment, BenchProfile profile, Section section, PrintStream progress) {

  /** Prepares a contender for its rounds. */
  @FunctionalInterface
  interface Opener<C> {
    Trial open(C contender) throws Exception;
  }

  CycleTrial oneThread(Cycler client, IntFunction<String> names) {
    return new CycleTrial(List.of(client), 1, profile.cycleSlice(), names, null);
  }

  /** Measures one thread with one uncontended name. */
  Section.Measured uncontended(
      @Nullable RequestCounter requests, List<? extends Competitor<?>> competitors)
      throws InterruptedException {
    return cycles("uncontended", 1, 1, number -> "own", requests, competitors);
  }

  /** Measures threads of one client, each with a name of its own. */
  Section.Measured ownNames(
      int threads, @Nullable RequestCounter requests, List<? extends Competitor<?>> competitors)
      throws InterruptedException {
    String what = "own names, " + threads + (threads == 1 ? " thread" : " threads");
    return cycles(what, 1, threads, number -> "own-" + number, requests, competitors);
  }

  /**
   * Measures threads of one or more clients, with uncontended names. Requests are counted for locks
   * only, since the requests of the bare calls are known.
   */
  Section.Measured cycles(
      String what,
      int clients,
      int threadsEach,
      IntFunction<String> names,
      @Nullable RequestCounter requests,
      List<? extends Competitor<?>> competitors)
      throws InterruptedException {
    return measure(
        what,
        profile.plan(),
        competitors,
        Competitor::name,
        competitor -> {
          List<? extends Cycler> opened = open(competitor, clients, threadsEach);
          RequestCounter counter = opened.get(0) instanceof Locking ? requests : null;
          return new CycleTrial(
              opened, clients * threadsEach, profile.cycleSlice(), names, counter);
        });
  }

  private <C extends Cycler> List<C> open(Competitor<C> competitor, int clients, int threadsEach)
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

  /** Measures threads that all want one name and release it immediately. */
  Section.Measured contention(
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

  /**
   * Measures two clients with one thread each, which take turns at holding one name for a while.
   */
  Section.Measured alternating(Duration hold, List<Competitor<Locking>> competitors)
      throws InterruptedException {
    String what = "one name, 2 clients × 1, each holding it for " + hold.toMillis() + " ms";
    return contention(what, 2, 1, hold, null, competitors);
  }

  private Section.Measured contention(
      String what,
      int clients,
      int threads,
      Duration hold,
      @Nullable RequestCounter requests,
      List<Competitor<Locking>> competitors)
      throws InterruptedException {
    return measure(
        what,
        profile.plan(),
        competitors,
        Competitor::name,
        competitor -> {
          List<Locking> opened = open(competitor, clients, threads);
          return ContentionTrial.of(
              opened, threads, profile.contentionSlice(), hold, "hot", requests);
        });
  }

  /** Measures our lock in several situations, each with a name of its own. */
  Section.Measured measure(String what, List<String> names, Opener<String> opener)
      throws InterruptedException {
    return measure(what, profile.plan(), names, Function.identity(), opener);
  }

  private <C> Section.Measured measure(
      String what,
      Rounds.Plan plan,
      List<? extends C> contenders,
      Function<? super C, String> name,
      Opener<? super C> opener)
      throws InterruptedException {
    progress.println(section.title() + ": " + what);
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    contenders.forEach(each -> openers.put(name.apply(each), () -> opener.open(each)));
    Series<String> series = new Series<>(what);
    new Rounds<>(plan, series, (contender, failure) -> reportFailure(what, contender, failure))
        .measure(openers);
    return section.add(series);
  }

  private void reportFailure(String what, String name, Throwable failure) {
    String line = what + ", " + name + " failed: " + Failures.describe(failure);
    progress.println(section.title() + ": " + line);
    section.note(line);
  }

  /** Measures a hundred threads of one client that want one name, with our lock and with others. */
  void hundredThreads(List<Competitor<Locking>> others) throws InterruptedException {
    List<Competitor<Locking>> competitors = new ArrayList<>(others);
    competitors.add(0, Competitor.ours());
    contention(1, 100, null, competitors).ratioToBest(Figure.HANDOFFS, Target.atLeast(10));
  }

  /**
   * Measures how soon a waiter gets the lock of a killed process, with our lock and with Curator's.
   */
  void takeovers(String curator) throws InterruptedException {
    AtomicInteger names = new AtomicInteger();
    measure(
            "the holder's process is killed",
            starts(0),
            List.of(Competitor.OURS, curator),
            Function.identity(),
            contender ->
                () ->
                    ZooKeeperTakeover.measure(
                        contender, deployment.uri(), "killed-" + names.incrementAndGet()))
        .ratio(Figure.TAKEOVER, curator, Target.atMost(1.25));
  }

  /** Compares the start of our client in a new JVM with that of its driver in another one. */
  void starts() throws InterruptedException {
    // One warm-up start reads the class files from disk.
    measure(
            "a client's start in a new process",
            starts(1),
            List.of(ClientStart.DRIVER, Competitor.OURS),
            Function.identity(),
            contender -> () -> ClientStart.measure(contender, deployment.uri()))
        .difference(Figure.START, ClientStart.DRIVER, Target.atMost(0.3, Unit.SECONDS));
  }

  private Rounds.Plan starts(int warmUps) {
    return new Rounds.Plan(profile.starts(), warmUps, 0, Duration.ZERO);
  }
}
