package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.testbed.Deployment;
import dev.interlock.testbed.DisposableServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** How soon locks are to be had again after a server was killed and came back. */
final class Restart implements Scenario {
  static final String ID = "restart";
  static final Metric DOWN = new Metric("server-down", "server down", Unit.SECONDS);
  static final Metric PAUSE = new Metric("longest-pause", "longest pause", Unit.SECONDS);
  static final Metric BACK =
      new Metric("back-after-server", "after the server is back", Unit.SECONDS);
  static final Metric KEPT = new Metric("held-leases-kept", "held lease kept", Unit.COUNT);

  private static final Duration STAYS_DOWN = Duration.ofSeconds(1);
  private static final Duration LONG_TTL = Duration.ofSeconds(20);
  private static final long PATIENCE_SECONDS = 40;

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "A server is killed and comes back";
  }

  @Override
  public String explanation() {
    return "One server (of several, the leader) is killed, stays down for a second, and is started"
        + " again with its data, while a client takes and releases a lock as fast as it can and"
        + " holds another one with a TTL of "
        + LONG_TTL.toSeconds()
        + " s. Measured is the longest time without a pair. Of the lease that was held, 1 means that"
        + " it was kept, 0 that it was lost and its holder told.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(new Column(DOWN), new Column(PAUSE), new Column(BACK), new Column(KEPT));
  }

  @Override
  public List<Chart> charts() {
    return List.of(new Chart.TimeLines("What happened when"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return Duration.ofMillis(4_000 + 1_000L * backends);
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.together(
        subject -> {
          Optional<DisposableServer> victim = subject.deployment().flatMap(Restart::victim);
          if (victim.isPresent()) {
            restart(run, subject, victim.get());
          } else {
            run.skip(subject, "no server of ours that could be killed");
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

  private static void restart(Run run, Subject subject, DisposableServer server) throws Exception {
    try (LockClient client = LockClient.open(subject.uri(), Subject.options(LONG_TTL));
        Lease held = client.lock(subject.newName()).tryAcquire(Pairs.PATIENCE).orElseThrow()) {
      Service service = new Service(client, subject.newName());
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
      long first = service.endOfLongestPause();
      TimeLineRecorder line = new TimeLineRecorder(killed);
      line.at(killed, "the server is killed");
      line.at(back, "it answers again");
      line.at(first, "a lock was had again");
      if (!kept) {
        line.at(
            System.nanoTime(),
            "the lease that was held is lost: " + SilentPartition.words(held.lost().getNow(null)));
      }
      run.timeLine(subject, line.events());
      run.measured(subject, DOWN, List.of((back - killed) / 1e9));
      run.measured(subject, PAUSE, List.of(service.longestPause() / 1e9));
      if (first - killed > STAYS_DOWN.toNanos()) { // else others stood in
        run.measured(subject, BACK, List.of(Math.max(0, first - back) / 1e9));
      }
      run.measured(subject, KEPT, List.of(kept ? 1.0 : 0.0));
    }
  }

  /** A thread that takes and releases a lock, whatever happens to the server. */
  private static final class Service implements AutoCloseable {
    private final LockClient client;
    private final String name;
    private final CountDownLatch first = new CountDownLatch(1);
    private final CountDownLatch after = new CountDownLatch(1);
    private final Thread thread = new Thread(this::work, "service");
    private volatile long awaited = Long.MAX_VALUE;
    private volatile boolean stopped;
    private volatile long longest;
    private volatile long endOfLongest;

    Service(LockClient client, String name) {
      this.client = client;
      this.name = name;
      thread.setDaemon(true);
    }

    void start() throws InterruptedException {
      thread.start();
      if (!first.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("no lock could be had");
      }
    }

    private void work() {
      long last = System.nanoTime();
      while (!stopped) {
        try {
          Optional<Lease> lease =
              client.lock(name).tryAcquire(Duration.ofSeconds(PATIENCE_SECONDS));
          lease.ifPresent(Lease::release);
        } catch (InterruptedException e) {
          return;
        } catch (RuntimeException e) {
          continue; // that is what is measured
        }
        long now = System.nanoTime();
        if (now - last > longest) {
          longest = now - last;
          endOfLongest = now;
        }
        last = now;
        first.countDown();
        if (awaited != Long.MAX_VALUE && now - awaited > 0) {
          after.countDown();
        }
      }
    }

    void awaitPairAfter(long moment) throws InterruptedException {
      awaited = moment;
      if (!after.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException(
            "no lock could be had for " + PATIENCE_SECONDS + " s after the server was back");
      }
    }

    long longestPause() {
      return longest;
    }

    long endOfLongestPause() {
      return endOfLongest;
    }

    @Override
    public void close() {
      stopped = true;
      thread.interrupt();
    }
  }
}
