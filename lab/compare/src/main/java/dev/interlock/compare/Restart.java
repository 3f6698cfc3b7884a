package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** How soon locks can be acquired again after a server was killed and came back. */
final class Restart extends Scenario {
  static final Metric DOWN = new Metric("server-down", "server down", Unit.SECONDS);
  static final Metric PAUSE = new Metric("longest-pause", "longest pause", Unit.SECONDS);
  static final Metric BACK = new Metric("back-after-server", "after server is back", Unit.SECONDS);
  static final Metric KEPT = new Metric("held-leases-kept", "held lease kept", Unit.COUNT);

  private static final Duration STAYS_DOWN = Duration.ofSeconds(1);
  private static final Duration LONG_TTL = Duration.ofSeconds(20);
  private static final long PATIENCE_SECONDS = 40;

  Restart() {
    super(
        "restart",
        "Server restart",
        """
        One server (of several, the leader) is killed, stays down for a second, and is started
        again with its data. Meanwhile a client acquires and releases a lock as fast as it can and
        holds another one with a TTL of %d s. Measured is the longest time without a pair. Of the
        lease that was held, 1 means that it was kept, 0 that it was lost and the loss signalled.
        """
            .formatted(LONG_TTL.toSeconds()),
        List.of(DOWN, PAUSE, BACK, KEPT),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return Duration.ofMillis(4_000 + 1_000L * backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.together(
        contender -> {
          Optional<DisposableServer> victim = contender.deployment().flatMap(Restart::victim);
          if (victim.isPresent()) {
            restart(run, contender, victim.get());
          } else {
            run.skip(contender, "no server of ours that could be killed");
          }
        });
  }

  private static Optional<DisposableServer> victim(Deployment deployment) {
    List<? extends DisposableServer> leaders = deployment.leaders();
    List<? extends DisposableServer> all = leaders.isEmpty() ? deployment.members() : leaders;
    return all.stream()
        .filter(DisposableServer::canBeHurt)
        .map(server -> (DisposableServer) server)
        .findFirst();
  }

  private static void restart(Run run, OpenContender contender, DisposableServer server)
      throws Exception {
    try (LockClient client = LockClient.open(contender.uri(), OpenContender.options(LONG_TTL));
        Lease held = client.lock(contender.newName()).tryAcquire(Locking.PATIENCE).orElseThrow()) {
      Service service = new Service(client, contender.newName());
      long killed;
      long back;
      try (service) {
        service.start();
        killed = System.nanoTime();
        server.kill();
        Thread.sleep(STAYS_DOWN.toMillis());
        server.restart();
        back = System.nanoTime();
        service.awaitPairAfter(back);
      } finally {
        server.heal();
      }
      boolean kept = held.isHeld();
      long first = service.endOfLongestPause;
      Map<String, Long> events = new LinkedHashMap<>();
      events.put("the server is killed", killed);
      events.put("it answers again", back);
      events.put("a lock is acquired again", first);
      if (!kept) {
        String reason = SilentPartition.words(held.onLoss().getNow(null));
        events.put("the lease that was held is lost: " + reason, System.nanoTime());
      }
      run.timeLine(contender, events);
      run.measured(contender, DOWN, (back - killed) / 1e9);
      run.measured(contender, PAUSE, service.longestPause / 1e9);
      if (first - killed > STAYS_DOWN.toNanos()) { // else others stood in
        run.measured(contender, BACK, Math.max(0, first - back) / 1e9);
      }
      run.measured(contender, KEPT, kept ? 1 : 0);
    }
  }

  /** A thread that acquires and releases a lock, whatever happens to the server. */
  private static final class Service implements AutoCloseable {
    private final LockClient client;
    private final String name;
    private final BlockingQueue<Long> ends = new LinkedBlockingQueue<>();
    private final Thread thread = new Thread(this::work, "service");
    private volatile boolean stopped;
    private long last;
    private long longestPause;
    private long endOfLongestPause;

    Service(LockClient client, String name) {
      this.client = client;
      this.name = name;
      thread.setDaemon(true);
    }

    void start() throws InterruptedException {
      thread.start();
      last = next("could not acquire the first lock");
    }

    private void work() {
      while (!stopped) {
        try {
          client
              .lock(name)
              .tryAcquire(Duration.ofSeconds(PATIENCE_SECONDS))
              .ifPresent(Lease::release);
        } catch (InterruptedException e) {
          return;
        } catch (RuntimeException e) {
          continue; // that is what is measured
        }
        ends.add(System.nanoTime());
      }
    }

    void awaitPairAfter(long moment) throws InterruptedException {
      while (last - moment <= 0) {
        long end =
            next(
                "could not acquire a lock for "
                    + PATIENCE_SECONDS
                    + " s after the server was back");
        if (end - last > longestPause) {
          longestPause = end - last;
          endOfLongestPause = end;
        }
        last = end;
      }
    }

    private long next(String otherwise) throws InterruptedException {
      Long end = ends.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
      if (end == null) {
        throw new IllegalStateException(otherwise);
      }
      return end;
    }

    @Override
    public void close() {
      stopped = true;
      thread.interrupt();
    }
  }
}
