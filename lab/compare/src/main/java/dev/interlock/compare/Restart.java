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

/** Measures how soon locks can be acquired again after a server was killed and restarted. */
final class Restart extends Scenario {
  static final Metric DOWN = new Metric("server-down", "server down", Unit.SECONDS);
  static final Metric MAX_PAUSE = new Metric("longest-pause", "longest pause", Unit.SECONDS);
  static final Metric AFTER_SERVER =
      new Metric("back-after-server", "after server is back", Unit.SECONDS);
  static final Metric LEASE_KEPT = new Metric("held-leases-kept", "held lease kept", Unit.COUNT);

  private static final Duration DOWNTIME = Duration.ofSeconds(1);
  private static final Duration LONG_TTL = Duration.ofSeconds(20);
  private static final long ACQUIRE_TIMEOUT_SECONDS = 40;

  Restart() {
    super(
        "restart",
        "Server restart",
        """
        One server (of several, the leader) is killed, stays down for a second, and is started again
        with its data. Meanwhile a client acquires and releases a lock as fast as it can and holds
        another one with a TTL of %d s. The longest pause is the longest time between two
        acquisitions. For the held lease, 1 means that it was kept, and 0 that it was lost and that
        the loss was signalled.
        """
            .formatted(LONG_TTL.toSeconds()),
        List.of(DOWN, MAX_PAUSE, AFTER_SERVER, LEASE_KEPT),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return Duration.ofMillis(4_000 + 1_000L * backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.inParallel(
        contender -> {
          Optional<DisposableServer> victim = contender.deployment().flatMap(Restart::victim);
          if (victim.isPresent()) {
            restart(run, contender, victim.get());
          } else {
            run.skip(contender, "no server of ours can be killed");
          }
        });
  }

  private static Optional<DisposableServer> victim(Deployment deployment) {
    List<? extends DisposableServer> leaders = deployment.leaders();
    List<? extends DisposableServer> all = leaders.isEmpty() ? deployment.members() : leaders;
    return all.stream()
        .filter(DisposableServer::acceptsFaults)
        .map(server -> (DisposableServer) server)
        .findFirst();
  }

  private static void restart(Run run, OpenContender contender, DisposableServer server)
      throws Exception {
    try (LockClient client = LockClient.open(contender.uri(), OpenContender.options(LONG_TTL));
        Lease heldLease =
            client
                .lock(contender.newName())
                .tryAcquire(Locking.UNCONTENDED_TIMEOUT)
                .orElseThrow()) {
      Service service = new Service(client, contender.newName());
      long killed;
      long restarted;
      try (service) {
        service.start();
        killed = System.nanoTime();
        server.kill();
        Thread.sleep(DOWNTIME.toMillis());
        server.restart();
        restarted = System.nanoTime();
        service.awaitCycleAfter(restarted);
      } finally {
        server.heal();
      }
      boolean kept = heldLease.isHeld();
      long recovered = service.endOfLongestPause;
      Map<String, Long> events = new LinkedHashMap<>();
      events.put("the server is killed", killed);
      events.put("it answers again", restarted);
      events.put("a lock is acquired again", recovered);
      if (!kept) {
        String reason = SilentPartition.describe(heldLease.onLoss().getNow(null));
        events.put("the lease that was held is lost: " + reason, System.nanoTime());
      }
      run.recordTimeLine(contender, events);
      run.record(contender, DOWN, (restarted - killed) / 1e9);
      run.record(contender, MAX_PAUSE, service.longestPause / 1e9);
      if (recovered - killed > DOWNTIME.toNanos()) { // else other servers took over
        run.record(contender, AFTER_SERVER, Math.max(0, recovered - restarted) / 1e9);
      }
      run.record(contender, LEASE_KEPT, kept ? 1 : 0);
    }
  }

  /** A thread that acquires and releases a lock in a loop, also while the server is down. */
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
              .tryAcquire(Duration.ofSeconds(ACQUIRE_TIMEOUT_SECONDS))
              .ifPresent(Lease::release);
        } catch (InterruptedException e) {
          return;
        } catch (RuntimeException e) {
          continue; // the pauses are measured
        }
        ends.add(System.nanoTime());
      }
    }

    void awaitCycleAfter(long time) throws InterruptedException {
      while (last - time <= 0) {
        long end =
            next(
                "could not acquire a lock for "
                    + ACQUIRE_TIMEOUT_SECONDS
                    + " s after the server was back");
        if (end - last > longestPause) {
          longestPause = end - last;
          endOfLongestPause = end;
        }
        last = end;
      }
    }

    private long next(String timeoutMessage) throws InterruptedException {
      Long end = ends.poll(ACQUIRE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
      if (end == null) {
        throw new IllegalStateException(timeoutMessage);
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
