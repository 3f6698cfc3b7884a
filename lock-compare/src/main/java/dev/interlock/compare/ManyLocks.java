package dev.interlock.compare;

import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** How much a store does at once for threads that do not get into each other's way. */
final class ManyLocks implements Scenario {
  static final String ID = "many-locks";
  static final String THREADS = "threads";
  static final Metric RATE = new Metric("pairs", "pairs", Unit.PER_SECOND);
  static final Metric FLOOR = new Metric("floor-pairs", "floor pairs", Unit.PER_SECOND);
  static final Metric RATIO = new Metric("pairs-to-floor", "pairs / floor", Unit.RATIO);

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "Many locks at once";
  }

  @Override
  public String explanation() {
    return "Threads of one process take and release locks, each its own, through one client. The"
        + " floor is the bare driver with as many threads.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    List<Column> columns = new ArrayList<>();
    for (int threads : effort.threads()) {
      Point point = new Point(THREADS, threads);
      columns.add(new Column(threads == 1 ? "1 thread" : point.label(), RATE, point));
    }
    for (int threads : effort.threads()) {
      Point point = new Point(THREADS, threads);
      columns.add(new Column("/ floor, " + point.number(), RATIO, point));
    }
    return columns;
  }

  @Override
  public List<Chart> charts() {
    return List.of(
        new Chart.Lines("Pairs per second, all threads together", RATE, "threads"),
        new Chart.Lines("The same, divided by that of the bare driver", RATIO, "threads"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort.roundsOf(2 * backends * effort.threads().size());
  }

  @Override
  public void run(Run run) throws InterruptedException {
    for (int threads : run.effort().threads()) {
      Point point = new Point(THREADS, threads);
      run.interleaved(
          subject -> {
            List<Trial> trials = new ArrayList<>();
            trials.add(
                new Throughput(run, subject, Pairs.byLock(subject.open()), threads, RATE, point));
            Pairs floor = Pairs.byDriver(subject, subject.uri(), threads);
            if (floor != null) {
              trials.add(new Throughput(run, subject, floor, threads, FLOOR, point));
            }
            return trials;
          });
    }
    run.ratio(RATIO, RATE, FLOOR);
  }

  /** Counts what threads do together. */
  private static final class Throughput implements Trial {
    private final Run run;
    private final Subject subject;
    private final Pairs pairs;
    private final int threads;
    private final Metric metric;
    private final Point point;
    private final List<String> names = new ArrayList<>();
    private final List<Double> rounds = new ArrayList<>();

    Throughput(Run run, Subject subject, Pairs pairs, int threads, Metric metric, Point point) {
      this.run = run;
      this.subject = subject;
      this.pairs = pairs;
      this.threads = threads;
      this.metric = metric;
      this.point = point;
      for (int i = 0; i < threads; i++) {
        names.add(subject.newName());
      }
    }

    @Override
    public Subject subject() {
      return subject;
    }

    /** A pair that is under way when the time is over still counts, and so does its time. */
    @Override
    public void round(Duration slice, boolean warmUp) throws Exception {
      LongAdder count = new LongAdder();
      long start =
          Crew.work(
              threads,
              slice,
              (number, goesOn) -> {
                String name = names.get(number);
                do {
                  pairs.pair(name);
                  count.increment();
                } while (goesOn.getAsBoolean());
              });
      double seconds = (System.nanoTime() - start) / 1e9;
      if (!warmUp) {
        rounds.add(count.sum() / seconds);
      }
    }

    @Override
    public void report(Results results) {
      run.measured(subject, metric, point, rounds);
    }

    @Override
    public void close() {
      pairs.close();
    }
  }
}
