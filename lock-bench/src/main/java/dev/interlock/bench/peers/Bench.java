package dev.interlock.bench.peers;

import dev.interlock.report.Failures;
import dev.interlock.report.Unit;
import dev.interlock.testbed.Deployment;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Measures on the servers of one store, in rounds: each goes through all entrants, and begins with
 * another one, so that whatever disturbs the machine disturbs them all alike. An entrant that fails
 * is left out from then on, and the report says so.
 */
final class Bench {
  private final Deployment deployment;
  private final Effort effort;
  private final Section section;
  private final PrintStream progress;
  private final WarmUp warmUp;

  Bench(Deployment deployment, Effort effort, Section section, PrintStream progress) {
    this.deployment = deployment;
    this.effort = effort;
    this.section = section;
    this.progress = progress;
    this.warmUp = new WarmUp(effort);
  }

  /** Gets an entrant ready; what it opens is closed after the last round. */
  @FunctionalInterface
  interface RoundOpener {
    Round open(Consumer<AutoCloseable> opened) throws Exception;
  }

  Deployment deployment() {
    return deployment;
  }

  Effort effort() {
    return effort;
  }

  /**
   * Threads of one client of each entrant, with names that nobody else wants. Requests are counted
   * for locks only; what the bare calls send is known.
   */
  Series pairs(
      String what,
      int threads,
      IntFunction<String> names,
      @Nullable RequestCounter requests,
      List<? extends Entrant<?>> entrants)
      throws InterruptedException {
    Map<String, RoundOpener> openers = new LinkedHashMap<>();
    for (Entrant<?> entrant : entrants) {
      openers.put(
          entrant.name(),
          opened -> {
            Contender client = entrant.opener().open(deployment.uri(), threads);
            opened.accept(client);
            RequestCounter counter = client instanceof WaitingContender ? requests : null;
            return new PairRound(client, threads, effort.pairs(), names, counter);
          });
    }
    return measure(what, openers);
  }

  /** Threads of several clients of each entrant, which all want one name, and return it at once. */
  Series contest(
      int clients,
      int threads,
      @Nullable RequestCounter requests,
      List<Entrant<WaitingContender>> entrants)
      throws InterruptedException {
    String what =
        clients == 1
            ? "one name, " + threads + " threads of one client"
            : "one name, " + clients + " clients × " + threads;
    return contest(what, clients, threads, Duration.ZERO, requests, entrants);
  }

  /** The same with two clients of one thread, each of which holds the name for a while. */
  Series turnsOf(Duration hold, List<Entrant<WaitingContender>> entrants)
      throws InterruptedException {
    String what = "one name, 2 clients × 1, each holding it for " + hold.toMillis() + " ms";
    return contest(what, 2, 1, hold, null, entrants);
  }

  private Series contest(
      String what,
      int clients,
      int threads,
      Duration hold,
      @Nullable RequestCounter requests,
      List<Entrant<WaitingContender>> entrants)
      throws InterruptedException {
    Map<String, RoundOpener> openers = new LinkedHashMap<>();
    for (Entrant<WaitingContender> entrant : entrants) {
      openers.put(
          entrant.name(),
          opened -> {
            List<WaitingContender> all = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
              WaitingContender client = entrant.opener().open(deployment.uri(), threads);
              opened.accept(client);
              all.add(client);
            }
            return new ContestRound(all, threads, effort.contest(), hold, "hot", requests);
          });
    }
    return measure(what, openers);
  }

  /** Measures in turns. */
  Series measure(String what, Map<String, RoundOpener> openers) throws InterruptedException {
    progress.println(section.title() + ": " + what);
    Series series = new Series(what);
    List<AutoCloseable> opened = new ArrayList<>();
    try {
      Map<String, Round> rounds = new LinkedHashMap<>();
      for (Map.Entry<String, RoundOpener> each : openers.entrySet()) {
        try {
          rounds.put(each.getKey(), each.getValue().open(opened::add));
        } catch (InterruptedException e) {
          throw e;
        } catch (Exception e) {
          failed(what, each.getKey(), e);
        }
      }
      warmUp.begin();
      for (int round = 0; warmUp.goesOn(rounds.keySet()); round++) {
        round(series, rounds, round, true);
      }
      for (int round = 0; round < effort.rounds(); round++) {
        round(series, rounds, round, false);
      }
    } finally {
      Collections.reverse(opened);
      opened.forEach(each -> close(what, each));
    }
    section.add(series);
    return series;
  }

  private void round(Series series, Map<String, Round> rounds, int number, boolean warming)
      throws InterruptedException {
    List<Map.Entry<String, Round>> order = new ArrayList<>(rounds.entrySet());
    Collections.rotate(order, -number);
    for (Map.Entry<String, Round> each : order) {
      String entrant = each.getKey();
      if (warming && warmUp.isWarm(entrant)) {
        continue;
      }
      try {
        long start = System.nanoTime();
        Map<Figure, Double> figures = each.getValue().measure();
        if (warming) {
          warmUp.count(entrant, figures, (System.nanoTime() - start) / 1e9);
        } else {
          series.add(entrant, figures);
        }
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception e) {
        failed(series.name(), entrant, e);
        rounds.remove(entrant);
        series.remove(entrant);
      }
    }
  }

  private void failed(String what, String entrant, Exception failure) {
    String line = what + ", " + entrant + " failed: " + Failures.describe(failure);
    progress.println(section.title() + ": " + line);
    section.note(line);
  }

  private void close(String what, AutoCloseable opened) {
    try {
      opened.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      progress.println(what + ": " + opened + " does not close: " + Failures.describe(e));
    }
  }

  /** Holds something against its target. */
  void row(String what, Target target, Optional<Spread> measured) {
    section.row(what, target, measured);
  }

  /** A hundred threads of one client that want one name, of our lock and of those of others. */
  void hundredThreads(List<Entrant<WaitingContender>> peers) throws InterruptedException {
    List<Entrant<WaitingContender>> entrants = new ArrayList<>(peers);
    entrants.add(0, Entrant.ours());
    Series series = contest(1, 100, null, entrants);
    Optional<String> best = series.highest(Figure.HAND_OVERS, Entrant.OURS);
    row(
        "one name, 100 threads of one process: handoffs a second, to the best peer's"
            + best.map(name -> " (" + name + ")").orElse(""),
        Target.atLeast(10, Unit.RATIO),
        best.flatMap(name -> series.ratio(Figure.HAND_OVERS, Entrant.OURS, name)));
  }

  /** A client in a new virtual machine, against its driver in another new one. */
  void starts() throws InterruptedException {
    Series series = new Series("a client's start in a new process");
    progress.println(section.title() + ": " + series.name());
    try {
      List<String> order = new ArrayList<>(List.of(ClientStart.DRIVER, Entrant.OURS));
      for (int i = -1; i < effort.starts(); i++) { // the first one reads the files from the disk
        for (String entrant : order) {
          Map<Figure, Double> start = ClientStart.measure(entrant, deployment.uri());
          if (i >= 0) {
            series.add(entrant, start);
          }
        }
        Collections.reverse(order);
      }
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      failed(series.name(), "a start", e);
    }
    section.add(series);
    row(
        "start: open and first lease, beyond the driver's own connect",
        Target.atMost(0.3, Unit.SECONDS),
        series.difference(Figure.START, Entrant.OURS, ClientStart.DRIVER));
  }
}
