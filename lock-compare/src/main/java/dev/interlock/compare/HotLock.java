package dev.interlock.compare;

import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/** What becomes of a lock that everybody wants. */
final class HotLock implements Scenario {
  static final String ID = "hot-lock";
  static final String WAITERS = "waiters";
  static final String PROCESSES = "processes";
  static final Metric RATE = new Metric("handoffs", "handoffs", Unit.PER_SECOND);
  static final Metric HAND_OVER = new Metric("handoff-p50", "handoff p50", Unit.SECONDS);
  static final Metric HAND_OVER_P99 = new Metric("handoff-p99", "handoff p99", Unit.SECONDS);
  static final Metric WAIT = new Metric("wait-p99", "wait p99", Unit.SECONDS);
  static final Metric FAIRNESS = new Metric("jain-index", "Jain's index", Unit.COUNT);

  private static final Duration ANSWER = Duration.ofSeconds(60);

  /** With fewer turns for each, the index would be about luck. */
  private static final int LEAST_TURNS_EACH = 3;

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "One hot lock";
  }

  @Override
  public String explanation() {
    return "All threads want the same lock and give it back at once: in one process, and in several"
        + " processes with some threads each. A handoff is from one holder's release to the next"
        + " one's grant. Jain's index is 1 if all had equally many turns.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    List<Column> columns = new ArrayList<>();
    for (int waiters : effort.waiters()) {
      Point point = new Point(WAITERS, waiters);
      columns.add(new Column(waiters == 1 ? "1 thread" : waiters + " threads", RATE, point));
    }
    int most = effort.waiters().get(effort.waiters().size() - 1);
    Point processes = new Point(PROCESSES, effort.processes());
    String several = effort.processes() + "×" + effort.waitersPerProcess();
    columns.add(new Column("wait p99, " + most, WAIT, new Point(WAITERS, most)));
    columns.add(new Column(several + " processes", RATE, processes));
    columns.add(new Column("handoff p50, " + several, HAND_OVER, processes));
    columns.add(new Column("wait p99, " + several, WAIT, processes));
    columns.add(new Column("Jain, " + several, FAIRNESS, processes));
    return columns;
  }

  @Override
  public List<Chart> charts() {
    return List.of(
        new Chart.Lines("Handoffs per second, one process", RATE, WAITERS),
        new Chart.Lines("Longest waits (p99), one process", WAIT, WAITERS));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort
        .roundsOf(backends * (effort.waiters().size() + 1))
        .plus(Duration.ofMillis(400L * effort.processes()).multipliedBy(backends));
  }

  @Override
  public void run(Run run) throws InterruptedException {
    for (int waiters : run.effort().waiters()) {
      Point point = new Point(WAITERS, waiters);
      run.interleaved(
          subject -> {
            LockClient client = subject.open();
            return List.of(new InOneProcess(run, subject, point, client, waiters));
          });
    }
    run.interleaved(
        subject -> {
          if (!subject.isShared()) {
            run.skip(subject, "other processes do not share its locks");
            return List.of();
          }
          return List.of(InSeveralProcesses.start(run, subject));
        });
  }

  /** What the rounds gave. */
  private abstract static class Contention implements Trial {
    private final Run run;
    private final Subject subject;
    private final Point point;
    private final int waiters;
    private final List<Double> rates = new ArrayList<>();
    private final List<Double> waits = new ArrayList<>();
    private final List<Double> fairness = new ArrayList<>();
    private final List<Double> handoffs = new ArrayList<>();
    private final List<Double> slowHandoffs = new ArrayList<>();

    Contention(Run run, Subject subject, Point point, int waiters) {
      this.run = run;
      this.subject = subject;
      this.point = point;
      this.waiters = waiters;
    }

    abstract Turns contend(Duration slice) throws Exception;

    @Override
    public Subject subject() {
      return subject;
    }

    @Override
    public void round(Duration slice, boolean warmUp) throws Exception {
      Turns turns = contend(slice);
      if (warmUp) {
        return;
      }
      rates.add(turns.perSecond());
      waits.add(PairTrial.seconds(turns.waits(), 0.99));
      Histogram times = turns.handoffs();
      if (times.getTotalCount() > 0) {
        handoffs.add(PairTrial.seconds(times, 0.5));
        slowHandoffs.add(PairTrial.seconds(times, 0.99));
      }
      if (turns.count() >= (long) LEAST_TURNS_EACH * waiters) {
        fairness.add(turns.fairness(waiters));
      }
    }

    @Override
    public void report(Results results) {
      run.measured(subject, RATE, point, rates);
      run.measured(subject, WAIT, point, waits);
      run.measured(subject, HAND_OVER, point, handoffs);
      run.measured(subject, HAND_OVER_P99, point, slowHandoffs);
      run.measured(subject, FAIRNESS, point, fairness);
    }
  }

  private static final class InOneProcess extends Contention {
    private final LockClient client;
    private final int waiters;
    private final String name;

    InOneProcess(Run run, Subject subject, Point point, LockClient client, int waiters) {
      super(run, subject, point, waiters);
      this.client = client;
      this.waiters = waiters;
      this.name = subject.newName();
    }

    @Override
    Turns contend(Duration slice) throws Exception {
      return Turns.contend(client, name, waiters, slice);
    }

    @Override
    public void close() {
      client.close();
    }
  }

  private static final class InSeveralProcesses extends Contention {
    private final List<OtherProcess> processes;
    private final int threads;
    private final Path directory;
    private final String name;

    private InSeveralProcesses(
        Run run, Subject subject, List<OtherProcess> processes, Path directory) {
      super(
          run,
          subject,
          new Point(PROCESSES, processes.size()),
          processes.size() * run.effort().waitersPerProcess());
      this.processes = processes;
      this.threads = run.effort().waitersPerProcess();
      this.directory = directory;
      this.name = subject.newName();
    }

    static InSeveralProcesses start(Run run, Subject subject) throws Exception {
      List<OtherProcess> started = new ArrayList<>();
      try {
        for (int i = 0; i < run.effort().processes(); i++) {
          started.add(subject.otherProcess(subject.uri(), Subject.options()));
        }
        return new InSeveralProcesses(
            run, subject, started, Files.createTempDirectory("interlock-compare"));
      } catch (IOException | InterruptedException e) {
        started.forEach(OtherProcess::close);
        throw e;
      }
    }

    @Override
    Turns contend(Duration slice) throws Exception {
      for (int i = 0; i < processes.size(); i++) {
        String file = directory.resolve("turns-" + i).toString();
        processes
            .get(i)
            .order(Contend.class, name, Integer.toString(threads), slice.toString(), file);
      }
      List<Turns> turns = new ArrayList<>();
      for (OtherProcess process : processes) {
        turns.add(Turns.read(Path.of(process.answer(ANSWER))));
      }
      return Turns.together(turns);
    }

    @Override
    public void close() {
      processes.forEach(OtherProcess::close);
      try {
        for (int i = 0; i < processes.size(); i++) {
          Files.deleteIfExists(directory.resolve("turns-" + i));
        }
        Files.deleteIfExists(directory);
      } catch (IOException e) {
        // A small file in the folder for temporary ones stays behind.
      }
    }
  }

  /** What each process does; answers with the file that it wrote. */
  static final class Contend implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Turns turns =
          Turns.contend(
              worker.client(),
              arguments.get(0),
              Integer.parseInt(arguments.get(1)),
              Duration.parse(arguments.get(2)));
      turns.write(Path.of(arguments.get(3)));
      return arguments.get(3);
    }
  }
}
