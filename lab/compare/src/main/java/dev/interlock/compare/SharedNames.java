package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Measures shared names: concurrent readers, permits, and a writer among readers. */
final class SharedNames extends Scenario {
  static final String READERS = "readers";
  static final String THREADS = "threads";
  static final Metric RATE = new Metric("reader-pairs", "readers' cycles", Unit.PER_SECOND);
  static final Metric PERMIT_RATE = new Metric("permit-pairs", "permits", Unit.PER_SECOND);
  static final Metric WRITER = new Metric("writer-wait-p99", "writer's wait p99", Unit.SECONDS);

  private static final int PERMITS = 8;
  private static final int READERS_BESIDE_A_WRITER = 4;
  private static final Duration READ = Duration.ofMillis(2);

  SharedNames() {
    super(
        "shared-names",
        "Readers and permits",
        """
        Threads of one process acquire and release the read lock of one name. Then 16 threads want
        one of 8 permits each. Finally, one thread wants the write lock of a name while 4 threads of
        another client hold its read lock for 2 ms at a time; the writer's wait is measured.
        """,
        List.of(),
        List.of(new Chart.Lines("Readers' cycles per second, one name", RATE, READERS, READERS)));
  }

  @Override
  List<Column> columns(Profile profile) {
    List<Column> columns = new ArrayList<>();
    for (int readers : profile.waiters()) {
      Point point = new Point(READERS, readers);
      columns.add(new Column(readers == 1 ? "1 reader" : readers + " readers", RATE, point));
    }
    columns.add(new Column("8 permits, 16 threads", PERMIT_RATE, new Point(THREADS, 2 * PERMITS)));
    columns.add(
        new Column("writer's wait p99", WRITER, new Point(READERS, READERS_BESIDE_A_WRITER)));
    return columns;
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.roundsOf(backends * (profile.waiters().size() + 2));
  }

  @Override
  void run(Run run) throws InterruptedException {
    for (OpenContender contender : run.contenders()) {
      for (Capability needed : List.of(Capability.READ_WRITE, Capability.SEMAPHORE)) {
        if (!contender.info().has(needed)) {
          run.skip(contender, "it has no " + needed);
        }
      }
    }
    for (int readers : run.profile().waiters()) {
      measure(
          run,
          Capability.READ_WRITE,
          contender -> run.cycles(contender, Locking.readLocks(contender.open()), readers),
          RATE,
          new Point(READERS, readers),
          Figure.CYCLES);
    }
    int threads = 2 * PERMITS;
    measure(
        run,
        Capability.SEMAPHORE,
        contender -> run.cycles(contender, Locking.permits(contender.open(), PERMITS), threads),
        PERMIT_RATE,
        new Point(THREADS, threads),
        Figure.CYCLES);
    measure(
        run,
        Capability.READ_WRITE,
        contender -> WriterAmongReaders.of(contender, run.profile().slice()),
        WRITER,
        new Point(READERS, READERS_BESIDE_A_WRITER),
        Figure.WAIT_P99);
  }

  private static void measure(
      Run run, Capability needed, Run.Opener opener, Metric metric, Point at, Figure figure)
      throws InterruptedException {
    run.interleaved(
        run.contenders().stream().filter(contender -> contender.info().has(needed)).toList(),
        0,
        opener,
        null,
        (contender, series, lock, baseline) ->
            run.record(contender, metric, at, series.values(lock, figure)));
  }

  /** A trial with one writer and, on another client, several readers. */
  private record WriterAmongReaders(
      LockClient writer, LockClient readers, String name, Duration slice) implements Trial {

    static WriterAmongReaders of(OpenContender contender, Duration slice) {
      LockClient writer = contender.open();
      try {
        return new WriterAmongReaders(writer, contender.open(), contender.newName(), slice);
      } catch (RuntimeException e) {
        writer.close();
        throw e;
      }
    }

    @Override
    public Map<Figure, Double> round() throws Exception {
      Histogram waits = new Histogram(3); // only the writer records
      DistributedReadWriteLock written = writer.readWriteLock(name);
      DistributedReadWriteLock read = readers.readWriteLock(name);
      Workers.work(
          1 + READERS_BESIDE_A_WRITER,
          slice,
          (number, running) -> {
            do {
              if (number == 0) {
                long asked = System.nanoTime();
                Lease lease = written.writeLock().acquire();
                waits.recordValue(System.nanoTime() - asked);
                lease.close();
              } else {
                try (Lease lease = read.readLock().acquire()) {
                  TimeUnit.NANOSECONDS.sleep(READ.toNanos());
                }
              }
            } while (running.getAsBoolean());
          });
      return Map.of(Figure.WAIT_P99, waits.getValueAtPercentile(99) / 1e9);
    }

    @Override
    public void close() {
      try (writer;
          readers) {
        // Closes both.
      }
    }
  }
}
