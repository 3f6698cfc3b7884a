package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Measures a contended lock. */
final class HotLock extends Scenario {
  static final String WAITERS = "waiters";
  static final String PROCESSES = "processes";
  static final Metric RATE = new Metric("handoffs", "handoffs", Unit.PER_SECOND);
  static final Metric HANDOFF = new Metric("handoff-p50", "handoff p50", Unit.SECONDS);
  static final Metric HANDOFF_P99 = new Metric("handoff-p99", "handoff p99", Unit.SECONDS);
  static final Metric WAIT = new Metric("wait-p99", "wait p99", Unit.SECONDS);
  static final Metric FAIRNESS = new Metric("jain-index", "Jain's index", Unit.COUNT);

  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration WAIT_AFTER_SLICE = Duration.ofSeconds(15);

  HotLock() {
    super(
        "hot-lock",
        "Contended",
        """
        All threads want the same lock and release it at once: in one process, and in several
        processes with some threads each. A handoff is the time from one holder's release to the
        next holder's grant. Jain's index is 1 if all held the lock equally often.
        """,
        List.of(),
        List.of(
            new Chart.Lines("Handoffs per second, one process", RATE, WAITERS, WAITERS),
            new Chart.Lines("Longest waits (p99), one process", WAIT, WAITERS, WAITERS)));
  }

  @Override
  List<Column> columns(Profile profile) {
    List<Column> columns = new ArrayList<>();
    for (int waiters : profile.waiters()) {
      Point point = new Point(WAITERS, waiters);
      columns.add(new Column(waiters == 1 ? "1 thread" : waiters + " threads", RATE, point));
    }
    int maxWaiters = profile.waiters().get(profile.waiters().size() - 1);
    Point processes = new Point(PROCESSES, profile.processes());
    String several = profile.processes() + "×" + profile.waitersPerProcess();
    columns.add(new Column("wait p99, " + maxWaiters, WAIT, new Point(WAITERS, maxWaiters)));
    columns.add(new Column(several + " processes", RATE, processes));
    columns.add(new Column("handoff p50, " + several, HANDOFF, processes));
    columns.add(new Column("wait p99, " + several, WAIT, processes));
    columns.add(new Column("Jain, " + several, FAIRNESS, processes));
    return columns;
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile
        .roundsOf(backends * (profile.waiters().size() + 1))
        .plus(Duration.ofMillis(400L * profile.processes()).multipliedBy(backends));
  }

  @Override
  void run(Run run) throws InterruptedException {
    for (int waiters : run.profile().waiters()) {
      run.interleaved(
          run.contenders(),
          0,
          contender -> inOneProcess(run, contender, waiters),
          null,
          (contender, series, lock, baseline) ->
              report(run, contender, new Point(WAITERS, waiters), series, lock));
    }
    Point at = new Point(PROCESSES, run.profile().processes());
    List<OpenContender> shared = new ArrayList<>();
    for (OpenContender contender : run.contenders()) {
      if (contender.isShared()) {
        shared.add(contender);
      } else {
        run.skip(contender, "other processes do not share its locks");
      }
    }
    run.interleaved(
        shared,
        0,
        contender -> inSeveralProcesses(run, contender),
        null,
        (contender, series, lock, baseline) -> report(run, contender, at, series, lock));
  }

  private static void report(
      Run run, OpenContender contender, Point at, Series<Run.Side> series, Run.Side lock) {
    run.record(contender, RATE, at, series.values(lock, Figure.HANDOFFS));
    run.record(contender, WAIT, at, series.values(lock, Figure.WAIT_P99));
    run.record(contender, HANDOFF, at, series.values(lock, Figure.HANDOFF_P50));
    run.record(contender, HANDOFF_P99, at, series.values(lock, Figure.HANDOFF_P99));
    run.record(contender, FAIRNESS, at, series.values(lock, Figure.FAIRNESS));
  }

  private static ContentionTrial inOneProcess(Run run, OpenContender contender, int waiters) {
    LockClient client = contender.open();
    String name = contender.newName();
    return new ContentionTrial(
        waiters,
        () -> contend(client, name, waiters, run.profile().slice()),
        null,
        List.of(client));
  }

  private static ContentionTrial inSeveralProcesses(Run run, OpenContender contender)
      throws IOException, InterruptedException {
    List<OtherProcess> processes = new ArrayList<>();
    try {
      for (int i = 0; i < run.profile().processes(); i++) {
        processes.add(contender.otherProcess(contender.uri(), OpenContender.options()));
      }
    } catch (IOException | InterruptedException e) {
      processes.forEach(OtherProcess::close);
      throw e;
    }
    String name = contender.newName();
    String threads = Integer.toString(run.profile().waitersPerProcess());
    String slice = run.profile().slice().toString();
    return new ContentionTrial(
        processes.size() * run.profile().waitersPerProcess(),
        () -> {
          for (OtherProcess process : processes) {
            process.order(Contend.class, name, threads, slice);
          }
          List<Holds> holds = new ArrayList<>();
          for (OtherProcess process : processes) {
            holds.add(Holds.decode(process.answer(ANSWER_TIMEOUT)));
          }
          return Holds.together(holds);
        },
        null,
        processes);
  }

  /** Lets threads wait beyond the end of the slice, so that the longest waits count, too. */
  private static Holds contend(LockClient client, String name, int threads, Duration slice)
      throws Exception {
    return Holds.contend(
        (waiter, atMost) -> {
          Optional<Lease> lease = client.lock(name).tryAcquire(atMost.plus(WAIT_AFTER_SLICE));
          if (lease.isEmpty()) {
            throw new IllegalStateException(
                "a waiter did not get the lock within "
                    + WAIT_AFTER_SLICE.toSeconds()
                    + " s after the round");
          }
          return lease;
        },
        threads,
        slice,
        Duration.ZERO);
  }

  /** Contends for the lock in another process; answers with the holds. */
  static final class Contend implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      return contend(
              worker.client(),
              arguments.get(0),
              Integer.parseInt(arguments.get(1)),
              Duration.parse(arguments.get(2)))
          .encode();
    }
  }
}
