package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** What it costs a client to hold many locks. */
final class HeldLeases extends Scenario {
  static final String LEASES = "leases";
  static final Metric THREADS = new Metric("client-threads", "threads", Unit.COUNT);
  static final Metric CONNECTIONS = new Metric("connections", "connections", Unit.COUNT);
  static final Metric HEAP = new Metric("heap-per-lease", "heap / lease", Unit.BYTES);

  /** Fewer are lost in what else happens on the heap. */
  private static final int ENOUGH_FOR_HEAP = 100;

  private static final int MIN_SIGNAL_TO_NOISE = 4;
  private static final int ACQUIRERS = 16;
  private static final int WARM_UP = 200;
  private static final Duration ANSWER = Duration.ofSeconds(60);

  HeldLeases() {
    super(
        "held-leases",
        "Many held leases",
        """
        One client, in a JVM of its own, holds leases that are renewed. Threads are those that the
        client started; heap is counted after garbage collection, beyond a client that holds no
        lease.
        """,
        List.of(),
        List.of(
            new Chart.Lines("Client threads, over leases held", THREADS, LEASES, LEASES),
            new Chart.Lines("Connections, over leases held", CONNECTIONS, LEASES, LEASES)));
  }

  @Override
  List<Column> columns(Profile profile) {
    List<Column> columns = new ArrayList<>();
    for (Metric metric : List.of(THREADS, CONNECTIONS, HEAP)) {
      for (int leases : profile.leases()) {
        Point point = new Point(LEASES, leases);
        columns.add(new Column(metric.label() + ", " + point.number(), metric, point));
      }
    }
    return columns;
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    int most = profile.leases().get(profile.leases().size() - 1);
    return Duration.ofMillis(1_000 + most / 4).multipliedBy(backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.together( // nothing here is measured in time
        contender -> {
          Optional<Network> network = contender.network();
          try {
            hold(run, contender, network);
          } finally {
            network.ifPresent(Network::close);
          }
        });
  }

  private static void hold(Run run, OpenContender contender, Optional<Network> network)
      throws IOException, InterruptedException {
    String uri = network.map(Network::uri).orElse(contender.uri());
    try (OtherProcess process = contender.otherProcess(uri, OpenContender.options())) {
      String prefix = contender.newName();
      usage(process, prefix, 0); // the start leaves behind what only goes a moment later
      Usage before = usage(process, prefix, 0);
      Usage none = usage(process, prefix, 0);
      for (int leases : run.profile().leases()) {
        Usage usage = usage(process, prefix, leases);
        Point at = new Point(LEASES, leases);
        run.measured(contender, THREADS, at, List.of((double) usage.threads()));
        network.ifPresent(
            way ->
                run.measured(contender, CONNECTIONS, at, List.of((double) way.traffic().open())));
        if (leases >= ENOUGH_FOR_HEAP) {
          long grown = usage.heap() - none.heap();
          long noise = Math.abs(none.heap() - before.heap());
          if (standsOut(grown, noise)) {
            run.measured(contender, HEAP, at, List.of((double) grown / leases));
          } else {
            String why =
                "heap is not shown, as it changed by %s with %s, and by %s without any"
                    .formatted(
                        Unit.BYTES.format((double) grown),
                        at.label(),
                        Unit.BYTES.format((double) noise));
            run.gap(contender, Results.Reason.UNCERTAIN, why);
          }
        }
      }
      if (contender.deployment().isEmpty()) { // the user's store is left as it was
        process.call(ANSWER, Close.class);
      }
    }
  }

  private static Usage usage(OtherProcess process, String prefix, int leases)
      throws IOException, InterruptedException {
    return Usage.parse(process.call(ANSWER, Hold.class, prefix, Integer.toString(leases)));
  }

  /** Whether what leases added to the heap is more than what comes and goes on it anyway. */
  static boolean standsOut(long grown, long noise) {
    return grown > 0 && grown >= MIN_SIGNAL_TO_NOISE * noise;
  }

  /** What a client takes. */
  private record Usage(int threads, long heap) {
    static Usage parse(String text) {
      String[] parts = text.split(" ", -1);
      return new Usage(Integer.parseInt(parts[0]), Long.parseLong(parts[1]));
    }
  }

  /** Acquires leases until it holds so many; answers with threads and heap. */
  static final class Hold implements RemoteTask {
    private static final List<Lease> HELD = new ArrayList<>();
    private static final AtomicInteger THREADS_BEFORE = new AtomicInteger(-1);

    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      boolean first =
          THREADS_BEFORE.compareAndSet(-1, ManagementFactory.getThreadMXBean().getThreadCount());
      LockClient client = worker.client();
      String prefix = arguments.get(0);
      int wanted = Integer.parseInt(arguments.get(1));
      if (first) {
        // What a driver creates once, for a batch or a burst, is not what a lease costs.
        for (int i = 0; i < WARM_UP; i++) {
          client.lock(prefix + "first").acquire().close();
        }
      }
      AtomicInteger next = new AtomicInteger(HELD.size());
      if (wanted > HELD.size()) {
        Workers.work(
            ACQUIRERS,
            Duration.ofSeconds(40),
            (number, goesOn) -> {
              for (int i = next.getAndIncrement(); i < wanted; i = next.getAndIncrement()) {
                Lease lease =
                    client
                        .lock(prefix + i)
                        .tryAcquire(Locking.PATIENCE)
                        .orElseThrow(() -> new IllegalStateException("busy"));
                synchronized (HELD) {
                  HELD.add(lease);
                }
              }
            });
      }
      return usage();
    }

    private static String usage() {
      long heap = OwnProcess.heapBytes();
      int threads = ManagementFactory.getThreadMXBean().getThreadCount() - THREADS_BEFORE.get();
      return threads + " " + heap;
    }
  }

  /** Releases all that it holds. */
  static final class Close implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      worker.client().close();
      return "";
    }
  }
}
