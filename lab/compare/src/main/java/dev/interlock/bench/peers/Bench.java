package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.ContentionTrial;
import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.PairTrial;
import dev.interlock.compare.rounds.Pairs;
import dev.interlock.compare.rounds.RequestCounter;
import dev.interlock.compare.rounds.Rounds;
import dev.interlock.compare.rounds.Series;
import dev.interlock.report.Failures;
import dev.interlock.report.Unit;
import dev.interlock.testbed.server.Deployment;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    return new PairTrial(client, 1, profile.pairs(), names, null);
  }

  /** One thread and one name, without contention. */
  Series<String> uncontended(@Nullable RequestCounter requests, List<? extends Peer<?>> peers)
      throws InterruptedException {
    return pairs("uncontended", 1, number -> "own", requests, peers);
  }

  /**
   * Threads of one client of each contender, with uncontended names. Requests are counted for locks
   * only; what the bare calls send is known.
   */
  Series<String> pairs(
      String what,
      int threads,
      IntFunction<String> names,
      @Nullable RequestCounter requests,
      List<? extends Peer<?>> peers)
      throws InterruptedException {
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    for (Peer<?> peer : peers) {
      openers.put(
          peer.name(),
          () -> {
            Pairs client = peer.opener().open(deployment.uri(), threads);
            RequestCounter counter = client instanceof Locking ? requests : null;
            return new PairTrial(client, threads, profile.pairs(), names, counter);
          });
    }
    return measure(what, openers);
  }

  /** Threads of several clients of each contender, which all want one name, and release at once. */
  Series<String> contention(
      int clients, int threads, @Nullable RequestCounter requests, List<Peer<Locking>> peers)
      throws InterruptedException {
    String what =
        clients == 1
            ? "one name, " + threads + " threads of one client"
            : "one name, " + clients + " clients × " + threads;
    return contention(what, clients, threads, Duration.ZERO, requests, peers);
  }

  /** The same with two clients of one thread, each of which holds the name for a while. */
  Series<String> turnsOf(Duration hold, List<Peer<Locking>> peers) throws InterruptedException {
    String what = "one name, 2 clients × 1, each holding it for " + hold.toMillis() + " ms";
    return contention(what, 2, 1, hold, null, peers);
  }

  private Series<String> contention(
      String what,
      int clients,
      int threads,
      Duration hold,
      @Nullable RequestCounter requests,
      List<Peer<Locking>> peers)
      throws InterruptedException {
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    for (Peer<Locking> peer : peers) {
      openers.put(
          peer.name(),
          () -> {
            List<Locking> opened = new ArrayList<>();
            try {
              for (int i = 0; i < clients; i++) {
                opened.add(peer.opener().open(deployment.uri(), threads));
              }
            } catch (Exception e) {
              for (Locking client : opened) {
                client.close();
              }
              throw e;
            }
            return ContentionTrial.of(opened, threads, profile.contention(), hold, "hot", requests);
          });
    }
    return measure(what, openers);
  }

  /** Measures in interleaved rounds. */
  Series<String> measure(String what, Map<String, Rounds.Opener> openers)
      throws InterruptedException {
    progress.println(section.title() + ": " + what);
    Series<String> series = new Series<>(what);
    new Rounds<>(profile.plan(), series, (name, failure) -> failed(what, name, failure))
        .measure(openers);
    section.add(series);
    return series;
  }

  private void failed(String what, String name, Throwable failure) {
    String line = what + ", " + name + " failed: " + Failures.describe(failure);
    progress.println(section.title() + ": " + line);
    section.note(line);
  }

  /** A hundred threads of one client that want one name, of our lock and of those of others. */
  void hundredThreads(List<Peer<Locking>> others) throws InterruptedException {
    List<Peer<Locking>> peers = new ArrayList<>(others);
    peers.add(0, Peer.ours());
    Series<String> series = contention(1, 100, null, peers);
    Optional<String> best = series.highest(Figure.HANDOFFS, Peer.OURS);
    section.row(
        "one name, 100 threads of one process: handoffs a second, to the best peer's"
            + best.map(name -> " (" + name + ")").orElse(""),
        Target.atLeast(10, Unit.RATIO),
        best.map(name -> series.ratios(Figure.HANDOFFS, Peer.OURS, name)).orElse(List.of()));
  }

  /** Waiters on ZooKeeper whose holders are killed, of our lock and of Curator's. */
  void takeovers(String curator) throws InterruptedException {
    Series<String> series = new Series<>("the holder's process is killed");
    progress.println(section.title() + ": " + series.name());
    try {
      for (int i = 0; i < profile.starts(); i++) {
        for (String name : List.of(Peer.OURS, curator)) {
          series.add(name, ZooKeeperTakeover.measure(name, deployment.uri(), "killed-" + i));
        }
      }
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      failed(series.name(), "a takeover", e);
    }
    section.add(series);
    section.row(
        series.name() + ": until the next has the lock, to " + curator + "'s",
        Target.atMost(1.25, Unit.RATIO),
        series.ratios(Figure.TAKEOVER, Peer.OURS, curator));
  }

  /** A client in a new virtual machine, compared with its driver in another new one. */
  void starts() throws InterruptedException {
    Series<String> series = new Series<>("a client's start in a new process");
    progress.println(section.title() + ": " + series.name());
    try {
      List<String> order = new ArrayList<>(List.of(ClientStart.DRIVER, Peer.OURS));
      for (int i = -1; i < profile.starts(); i++) { // the first one reads the files from the disk
        for (String name : order) {
          Map<Figure, Double> start = ClientStart.measure(name, deployment.uri());
          if (i >= 0) {
            series.add(name, start);
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
    section.row(
        "start: open and first lease, beyond the driver's own connect",
        Target.atMost(0.3, Unit.SECONDS),
        series.differences(Figure.START, Peer.OURS, ClientStart.DRIVER));
  }
}
