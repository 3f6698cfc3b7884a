package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.process.Journal;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.ProcessSignals;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * Clients that lock and release while random faults are injected. All faults are of kinds that
 * exclusion survives according to the failure model. A fault counts only if it took effect.
 */
final class RandomFaults {
  private static final int CLIENTS = 3;
  private static final int THREADS_PER_CLIENT = 2;
  private static final List<Function<FaultProxy, NetworkFault>> NETWORK_FAULTS =
      List.of(
          FaultProxy::partition,
          FaultProxy::cut,
          FaultProxy::silenceOpenConnections,
          proxy -> proxy.blackHole(Direction.SERVER_TO_CLIENT),
          proxy -> proxy.blackHole(Direction.CLIENT_TO_SERVER),
          proxy -> proxy.hold(Direction.CLIENT_TO_SERVER),
          proxy -> proxy.hold(Direction.SERVER_TO_CLIENT),
          proxy -> proxy.holdOpenConnections(Direction.CLIENT_TO_SERVER),
          proxy -> proxy.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(300)));

  private final RuleTest test;
  private final Path folder;
  private final long seed;
  private final Random random;
  private final Server server;
  private final List<String> names;
  private final List<Target> targets;
  private final List<Network> networks = new ArrayList<>();
  private final List<LockClient> clients = new ArrayList<>();
  private final List<Future<?>> workers = new ArrayList<>();
  private final Queue<Event> history = new ConcurrentLinkedQueue<>();
  private final List<Path> logs = new ArrayList<>();
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final Map<String, Integer> strikes = new TreeMap<>();
  private Optional<OtherProcess> process = Optional.empty();

  RandomFaults(RuleTest test, Path folder, long seed) throws Exception {
    this.test = test;
    this.folder = folder;
    this.seed = seed;
    this.random = new Random(seed);
    this.names = List.of(test.newName(), test.newName());
    this.server = test.kit().harness().startsServers() ? test.ownServer() : test.kit().server();
    for (int c = 0; c < CLIENTS; c++) {
      String uri = server.uri();
      if (networked()) {
        networks.add(test.network(server));
        uri = networks.get(c).uri();
      }
      clients.add(test.client(uri, test.renewed()));
    }
    this.targets = targets();
  }

  private enum Target {
    NETWORK,
    RESET,
    PROCESS,
    SERVER,
    CALLER
  }

  /** {@return the possible targets; one that occurs twice is chosen twice as often} */
  private List<Target> targets() {
    List<Target> targets = new ArrayList<>(List.of(Target.CALLER));
    if (!networks.isEmpty()) {
      targets.addAll(List.of(Target.NETWORK, Target.NETWORK, Target.RESET));
    }
    if (survives(Fault.CLIENT_KILLED)
        && OtherProcess.canMake(test.kit().harness())
        && ProcessSignals.supported()) {
      targets.add(Target.PROCESS);
    }
    if (test.kit().harness().startsServers() && !server.nodes().isEmpty()) {
      targets.add(Target.SERVER);
    }
    return targets;
  }

  private boolean survives(Fault fault) {
    return test.info().failureModel().keepsExclusion(fault) && !test.cannotHappen(fault);
  }

  private boolean networked() {
    return survives(Fault.PARTITION) && survives(Fault.CONNECTION_LOST);
  }

  /** Locks and releases until told to stop. */
  private record Work(
      DistributedLock lock,
      LeaseRecorder recorder,
      Random random,
      Duration bound,
      BooleanSupplier stopped) {

    void run() throws Exception {
      while (!stopped.getAsBoolean()) {
        try {
          long requestedAt = System.nanoTime();
          Optional<Lease> acquired =
              lock.tryAcquire(Duration.ofMillis(500 + random.nextInt(1_000)));
          if (acquired.isPresent()) {
            use(acquired.get(), recorder.granted(acquired.get(), requestedAt));
          }
        } catch (LockException e) {
          TimeUnit.MILLISECONDS.sleep(10); // the store is out of reach
        }
      }
    }

    private void use(Lease lease, LeaseRecorder.Recorded recorded) throws Exception {
      if (random.nextInt(10) == 0) {
        for (int i = 0; i < 20 && lease.isHeld() && !stopped.getAsBoolean(); i++) {
          recorded.extend(lease);
          TimeUnit.MILLISECONDS.sleep(50);
        }
        if (!lease.isHeld()) {
          assertLossReported(lease);
        }
      } else {
        TimeUnit.MICROSECONDS.sleep(random.nextInt(2_000));
      }
      recorded.end();
      lease.release();
    }

    private void assertLossReported(Lease lease) throws Exception {
      try {
        lease.onLoss().get(bound.toMillis(), TimeUnit.MILLISECONDS);
      } catch (TimeoutException | ExecutionException e) {
        throw new AssertionError(
            "a lease ended during the random faults, and its loss was not reported", e);
      }
    }
  }

  /** Locks and releases in another process until its time is over or it is killed. */
  static final class LockDuringFaults implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      boolean fenced = worker.client().backend().has(Capability.FENCING);
      long end = System.nanoTime() + Long.parseLong(arguments.get(2));
      try (Journal journal = Journal.create(Path.of(arguments.get(1)))) {
        new Work(
                worker.client().lock(arguments.get(0)),
                new LeaseRecorder(
                    "process-" + ProcessHandle.current().pid(), fenced, journal::record),
                new Random(),
                Duration.parse(arguments.get(3)),
                () -> System.nanoTime() - end >= 0)
            .run();
      }
      return "";
    }
  }

  void run(Duration duration) throws Exception {
    for (int c = 0; c < CLIENTS; c++) {
      LeaseRecorder recorder = test.recorder("client-" + c, history);
      for (int t = 0; t < THREADS_PER_CLIENT; t++) {
        Work work =
            new Work(
                clients.get(c).lock(names.get(t % names.size())),
                recorder,
                new Random(random.nextLong()),
                test.bound(),
                stopped::get);
        workers.add(
            test.doInThread(
                () -> {
                  try {
                    work.run();
                  } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                  }
                }));
      }
    }
    long end = System.nanoTime() + duration.toNanos();
    while (System.nanoTime() - end < 0 && failure.get() == null) {
      injectOne(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
    }
    networks.forEach(Network::heal);
    stopped.set(true);
    Duration limit = test.renewed().ttl().plus(test.bound().multipliedBy(3));
    test.allWithin(limit, workers, "a thread is stuck after " + this);
    process.ifPresent(OtherProcess::kill);
    if (failure.get() != null) {
      fail("during random faults: " + failure.get() + System.lineSeparator() + this, failure.get());
    }
    RuleTest.assumeTestable(!strikes.isEmpty(), "none of the random faults took effect");
  }

  /** Injects one fault for a while. */
  private void injectOne(Duration remaining) throws Exception {
    Duration duration = Duration.ofMillis(200 + random.nextInt(1_500));
    switch (targets.get(random.nextInt(targets.size()))) {
      case NETWORK -> networkFault(duration);
      case RESET -> resetConnections();
      case PROCESS -> processFault(duration, remaining);
      case SERVER -> serverFault(duration);
      case CALLER -> abandonAttempts();
    }
    TimeUnit.MILLISECONDS.sleep(random.nextInt(300));
  }

  private void networkFault(Duration duration) throws InterruptedException {
    Network network = networks.get(random.nextInt(networks.size()));
    Function<FaultProxy, NetworkFault> fault =
        NETWORK_FAULTS.get(random.nextInt(NETWORK_FAULTS.size()));
    try (Disturbance disturbance = network.everywhere(fault)) {
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
      count(disturbance.hits() > 0, "network");
    }
  }

  private void resetConnections() {
    count(networks.get(random.nextInt(networks.size())).reset() > 0, "connections reset");
  }

  private void processFault(Duration duration, Duration remaining) throws Exception {
    if (process.isEmpty()) {
      OtherProcess started = test.anyProcess(server.uri(), test.renewed(), false);
      Path log = folder.resolve("process-" + logs.size());
      logs.add(log);
      started.order(
          LockDuringFaults.class,
          names.get(random.nextInt(names.size())),
          log.toString(),
          Long.toString(remaining.toNanos()),
          test.bound().toString());
      process = Optional.of(started);
    } else if (random.nextBoolean() && survives(Fault.CLIENT_STOPPED)) {
      process.get().stop();
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
      process.get().resume();
      count(true, "process stopped");
    } else {
      process.get().kill();
      process = Optional.empty();
      count(true, "process killed");
    }
  }

  private void serverFault(Duration duration) throws Exception {
    ServerNode node = server.nodes().get(random.nextInt(server.nodes().size()));
    if (random.nextInt(3) > 0 && survives(Fault.SERVER_STOPPED)) {
      node.pause();
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
      node.resume();
      count(true, "server stopped");
    } else if (survives(Fault.SERVER_RESTARTED)) {
      node.kill();
      node.restart();
      count(true, "server restarted");
    }
  }

  /** Cancels attempts of callers; this is not a fault of the store. */
  private void abandonAttempts() throws InterruptedException {
    for (int i = 0; i < 10; i++) {
      CompletableFuture<Lease> attempt =
          clients
              .get(random.nextInt(clients.size()))
              .lock(names.get(random.nextInt(names.size())))
              .acquireAsync();
      TimeUnit.MICROSECONDS.sleep(random.nextInt(3_000));
      if (!attempt.cancel(true) && !attempt.isCompletedExceptionally()) {
        attempt.join().release();
      }
    }
    count(true, "attempts abandoned");
  }

  private void count(boolean happened, String what) {
    if (happened) {
      strikes.merge(what, 1, Integer::sum);
    }
  }

  void assertEveryClientRecovers() throws Exception {
    Duration limit = test.renewed().ttl().multipliedBy(2).plus(test.bound().multipliedBy(2));
    for (LockClient client : clients) {
      for (String name : names) {
        test.assertFree(limit, client.lock(name), "a client cannot acquire a lock after " + this);
      }
    }
  }

  Collection<Event> history() throws Exception {
    List<Event> all = new ArrayList<>(history);
    for (Path log : logs) {
      all.addAll(Journal.read(log, List.of(Event.class)));
    }
    return all;
  }

  long leases() throws Exception {
    return history().stream().filter(Event.Granted.class::isInstance).count();
  }

  @Override
  public String toString() {
    return "random faults with seed " + seed + ": " + strikes;
  }
}
