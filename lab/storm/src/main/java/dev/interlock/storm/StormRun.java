package dev.interlock.storm;

import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.storm.StormSettings.DisposableStore;
import dev.interlock.storm.StormSettings.RunningStore;
import dev.interlock.storm.nemesis.HolderOfMany;
import dev.interlock.storm.nemesis.InjectedFault;
import dev.interlock.storm.nemesis.Nemesis;
import dev.interlock.storm.nemesis.Plan;
import dev.interlock.storm.nemesis.Target;
import dev.interlock.storm.report.StormResult;
import dev.interlock.storm.verdict.RecordedHistory;
import dev.interlock.storm.verdict.Residue;
import dev.interlock.storm.verdict.Verdict;
import dev.interlock.storm.workers.Assignment;
import dev.interlock.storm.workers.Client;
import dev.interlock.storm.workers.ClientProcess;
import dev.interlock.storm.workers.ClientThreads;
import dev.interlock.storm.workers.ClientWorkers.Phase;
import dev.interlock.storm.workers.Clients;
import dev.interlock.storm.workers.GuardedStore;
import dev.interlock.storm.workers.RunningTime;
import dev.interlock.storm.workers.UsedName;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Timing;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.run.Kit;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs one storm over one backend: several processes use a few locks while a nemesis injects faults
 * into them, their networks and, if the storm has started them, the servers.
 *
 * <p>See {@link Verdict} for the rules that are checked.
 */
public final class StormRun {
  private static final int EXCLUSIVE_LOCKS = 5;
  private static final int OTHER_NAMES = 2;

  /** The client with a longer way to the store than the others; it is a process. */
  private static final int DISTANT_CLIENT = 0;

  private static final Duration MESSAGE_DELAY = Duration.ofMillis(5);

  /** The client whose log and listeners block; it is a process if there are two. */
  private static final int BLOCKED_CLIENT = 1;

  private static final Duration SLACK = Duration.ofSeconds(4);
  private static final Duration FIRST_ANSWER_TIMEOUT = Duration.ofSeconds(60);

  private final StormSettings settings;
  private final String uri;
  private final @Nullable Deployment deployment;
  private final Kit kit;
  private final Timing timing;

  private StormRun(StormSettings settings, String uri, @Nullable Deployment deployment)
      throws Exception {
    this.settings = settings;
    this.uri = uri;
    this.deployment = deployment;
    this.kit = start(uri, deployment != null);
    this.timing = Timing.of(kit.info(), SLACK);
  }

  /**
   * Starts the servers and clients, runs the nemesis, heals everything, and checks the histories.
   *
   * @param settings the settings of the storm
   * @return the result; a broken rule is a finding there, not an exception
   * @throws Exception if the storm could not run
   */
  public static StormResult run(StormSettings settings) throws Exception {
    if (settings.store() instanceof DisposableStore store) {
      try (Deployment deployment = store.start().get()) {
        return run(settings, deployment.uri(), deployment);
      }
    }
    return run(settings, ((RunningStore) settings.store()).uri(), null);
  }

  private static StormResult run(
      StormSettings settings, String uri, @Nullable Deployment deployment) throws Exception {
    StormRun run = new StormRun(settings, uri, deployment);
    try (run.kit) {
      return run.run();
    }
  }

  /** Retries while the storm's own servers start: a driver that was just loaded may be slow. */
  private static Kit start(String uri, boolean ownServers) throws Exception {
    RunningTime time = new RunningTime();
    while (true) {
      try {
        return Kit.start(Harness.at(uri));
      } catch (LockUnavailableException e) {
        if (!ownServers || !time.isWithin(FIRST_ANSWER_TIMEOUT)) {
          throw e;
        }
      }
    }
  }

  private Harness harness() {
    Harness harness = settings.harness();
    return harness == null ? Harness.at(uri) : harness;
  }

  private boolean behindProxies() throws Exception {
    return kit.info().failureModel().under(Fault.PARTITION) != Guarantee.NOT_APPLICABLE
        && kit.staysBehindProxies();
  }

  /** Whether clients of other processes see the same locks. */
  private boolean isShared() {
    return kit.info().failureModel().under(Fault.CLIENT_KILLED) != Guarantee.NOT_APPLICABLE;
  }

  private StormResult run() throws Exception {
    Files.createDirectories(settings.folder());
    List<UsedName> used = UsedName.of(newNames(EXCLUSIVE_LOCKS), newNames(OTHER_NAMES), kit.info());
    List<String> names = used.stream().map(UsedName::name).toList();
    try (GuardedStore store = GuardedStore.start();
        Clients clients = new Clients();
        HolderOfMany holder = holderOfMany()) {
      progress("starting the clients");
      start(clients, used, store.port());
      clients.perform(Phase.AWAIT_WORKING);

      Target target = new Target(kit, uri, deployment, clients.all(), names, timing.renewedTtl());
      Plan plan = Nemesis.plan(settings.seed(), settings.duration(), target, settings.beyond());
      Instant started = Instant.now();
      long origin = System.nanoTime();
      progress("the storm begins, with seed " + settings.seed());
      CompletableFuture<InjectedFault> killed =
          holder == null
              ? null
              : holder.kill(origin, kit.info().failureModel().keepsExclusion(Fault.CLIENT_KILLED));
      List<InjectedFault> faults =
          new Nemesis(target, plan, origin).run(settings.duration(), settings.stopped());
      Duration lasted = Duration.ofNanos(System.nanoTime() - origin);
      List<String> residueNames = new ArrayList<>(names);
      if (holder != null && killed != null) {
        holder.close();
        faults.add(killed.get());
        faults.sort(Comparator.comparing(InjectedFault::from));
        residueNames.addAll(holder.names());
      }

      progress("all faults have ended; now every client must acquire every lock");
      clients.perform(Phase.STOP);
      clients.perform(Phase.PROBE);
      clients.acquireAbandonedLocks();
      clients.perform(Phase.CLOSE);
      progress("looking for residue");
      List<String> residue = residue(residueNames);
      RecordedHistory records = RecordedHistory.read(clients.all());
      Verdict verdict =
          new Verdict(records, faults, timing.bound(), origin)
              .decide(
                  clients.all().stream().collect(Collectors.toMap(Client::name, Client::stops)),
                  store.writes(),
                  residue);
      boolean passed = verdict.findings().isEmpty();
      progress(passed ? "no violation" : "rules broken: " + verdict.findings());
      return new StormResult(
          settings.name(),
          kit.info().name(),
          kit.endpoint(),
          deployment == null ? "" : deployment.source() + ", version " + deployment.version(),
          started,
          lasted,
          plan.beyondAt(),
          passed,
          clients.all().stream().map(Client::name).toList(),
          names,
          verdict.operations(),
          store.writes(),
          verdict.overlapsOutside(),
          verdict.overlapsExposed(),
          verdict.findings(),
          verdict.counterExample(),
          verdict.slowest(),
          records.resources,
          faults,
          plan,
          verdict.heldLeases());
    }
  }

  private @Nullable HolderOfMany holderOfMany() throws IOException, InterruptedException {
    return settings.processes() == 0 || !isShared()
        ? null
        : new HolderOfMany(
            new OtherProcess.Settings(harness(), uri, options(), List.of(), false),
            kit.newName(),
            settings.duration());
  }

  private LockOptions options() {
    return LockOptions.builder()
        .ttl(timing.renewedTtl())
        .requestTimeout(timing.requestTimeout())
        .build();
  }

  private void progress(String line) {
    settings.progress().accept(line);
  }

  private List<String> newNames(int count) {
    return Stream.generate(kit::newName).limit(count).toList();
  }

  private void start(Clients clients, List<UsedName> names, int storePort) throws Exception {
    boolean proxied = behindProxies();
    int processes = isShared() ? settings.processes() : 0;
    Random random = new Random(settings.seed());
    for (int c = 0; c <= settings.processes(); c++) {
      String name = "client-" + (c + 1);
      Path journal = settings.folder().resolve(name + ".journal");
      Assignment assignment =
          new Assignment(
              name,
              random.nextLong(),
              settings.threads(),
              names,
              timing.renewedTtl().toMillis(),
              timing.ttl().toMillis(),
              timing.requestTimeout().toMillis(),
              timing.bound().toMillis(),
              c == BLOCKED_CLIENT,
              storePort,
              journal.toString());
      Network network = proxied ? kit.network(uri).orElse(null) : null;
      if (network != null && c == DISTANT_CLIENT) {
        for (Direction direction : Direction.values()) {
          Disturbance unused = network.delay(direction, MESSAGE_DELAY);
        }
      }
      String clientUri = network == null ? uri : network.uri();
      clients.add(
          c < processes
              ? new ClientProcess(assignment, harness(), uri, network)
              : new ClientThreads(
                  assignment, network, () -> harness().open(clientUri, assignment.options())));
    }
  }

  private List<String> residue(List<String> names) throws InterruptedException {
    try (LockClient client = kit.open(uri, options())) {
      return Residue.await(
          client, deployment, names, timing.renewedTtl().plus(timing.bound()).multipliedBy(2));
    }
  }
}
