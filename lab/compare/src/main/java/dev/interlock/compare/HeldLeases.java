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

/** Measures what it costs a client to hold many locks. */
final class HeldLeases extends Scenario {
  static final String LEASES = "leases";
  static final Metric THREADS = new Metric("client-threads", "threads", Unit.COUNT);
  static final Metric CONNECTIONS = new Metric("connections", "connections", Unit.COUNT);
  static final Metric HEAP = new Metric("heap-per-lease", "heap / lease", Unit.BYTES);

  /** The heap of fewer leases would disappear among other changes of the heap. */
  private static final int MIN_LEASES_FOR_HEAP = 100;

  private static final int MIN_SIGNAL_TO_NOISE = 4;
  private static final int ACQUIRING_THREADS = 16;
  private static final int WARM_UP_CYCLES = 200;
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(60);

  HeldLeases() {
    super(
        "held-leases",
        "Many held leases",
        """
        One client, in a JVM of its own, holds leases that are renewed. Threads are those that the
        client started. Heap is what the leases add to that of an idle client, after garbage
        collection.
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
    int maxLeases = profile.leases().get(profile.leases().size() - 1);
    return Duration.ofMillis(1_000 + maxLeases / 4).multipliedBy(backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.inParallel( // no time is measured here
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
      usage(process, prefix, 0); // garbage of the start may outlive the first collection
      Usage before = usage(process, prefix, 0);
      Usage idle = usage(process, prefix, 0);
      for (int leases : run.profile().leases()) {
        Usage usage = usage(process, prefix, leases);
        Point at = new Point(LEASES, leases);
        run.record(contender, THREADS, at, List.of((double) usage.threads()));
        network.ifPresent(
            proxied ->
                run.record(contender, CONNECTIONS, at, List.of((double) proxied.traffic().open())));
        if (leases >= MIN_LEASES_FOR_HEAP) {
          long grown = usage.heap() - idle.heap();
          long noise = Math.abs(idle.heap() - before.heap());
          if (standsOut(grown, noise)) {
            run.record(contender, HEAP, at, List.of((double) grown / leases));
          } else {
            String why =
                "heap is not shown, because it changed by %s with %s, and by %s without any"
                    .formatted(
                        Unit.BYTES.format((double) grown),
                        at.label(),
                        Unit.BYTES.format((double) noise));
            run.recordGap(contender, Results.Reason.UNCERTAIN, why);
          }
        }
      }
      if (contender.deployment().isEmpty()) { // leave nothing on the user's store
        process.call(ANSWER_TIMEOUT, Close.class);
      }
    }
  }

  private static Usage usage(OtherProcess process, String prefix, int leases)
      throws IOException, InterruptedException {
    return Usage.parse(process.call(ANSWER_TIMEOUT, Hold.class, prefix, Integer.toString(leases)));
  }

  /** {@return whether the heap has grown by clearly more than it changes without leases} */
  static boolean standsOut(long grown, long noise) {
    return grown > 0 && grown >= MIN_SIGNAL_TO_NOISE * noise;
  }

  private record Usage(int threads, long heap) {
    static Usage parse(String text) {
      String[] parts = text.split(" ", -1);
      return new Usage(Integer.parseInt(parts[0]), Long.parseLong(parts[1]));
    }
  }

  /** Acquires leases until it holds the given number; answers with the threads and heap. */
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
        // Objects that a driver creates once are not part of the cost of a lease.
        for (int i = 0; i < WARM_UP_CYCLES; i++) {
          client.lock(prefix + "first").acquire().close();
        }
      }
      AtomicInteger next = new AtomicInteger(HELD.size());
      if (wanted > HELD.size()) {
        Workers.work(
            ACQUIRING_THREADS,
            Duration.ofSeconds(40),
            (number, running) -> {
              for (int i = next.getAndIncrement(); i < wanted; i = next.getAndIncrement()) {
                Lease lease =
                    client
                        .lock(prefix + i)
                        .tryAcquire(Locking.UNCONTENDED_TIMEOUT)
                        .orElseThrow(
                            () ->
                                new IllegalStateException("a lock that nobody else uses was held"));
                synchronized (HELD) {
                  HELD.add(lease);
                }
              }
            });
      }
      return usage();
    }

    private static String usage() {
      long heap = ThisProcess.heapBytes();
      int threads = ManagementFactory.getThreadMXBean().getThreadCount() - THREADS_BEFORE.get();
      return threads + " " + heap;
    }
  }

  /** Closes the client, which releases its leases. */
  static final class Close implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      worker.client().close();
      return "";
    }
  }
}
