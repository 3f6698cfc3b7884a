package dev.interlock.storm;

import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Kit;
import dev.interlock.tck.Timing;
import dev.interlock.tck.fault.Network;
import dev.interlock.testbed.Deployment;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One storm over one backend: several processes use a few locks while a nemesis hurts them, their
 * networks and the servers, as far as these are ours.
 *
 * <p>What is decided in the end, and by which rules, says {@link Verdict}.
 */
public final class StormRun {
  private static final int NAMES = 5;
  private static final Duration SLACK = Duration.ofSeconds(4);
  private static final Duration FIRST_ANSWER = Duration.ofSeconds(60);

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
   * Starts the servers, lets clients work and the nemesis rage, heals everything, and decides.
   *
   * @param settings what kind of storm, over what
   * @return what it came to; a broken rule is a finding there and no exception
   * @throws Exception if the storm could not take place
   */
  public static StormResult run(StormSettings settings) throws Exception {
    Deployment deployment = settings.start() == null ? null : settings.start().get();
    try (deployment) {
      String uri = deployment == null ? settings.uri() : deployment.uri();
      if (uri == null) {
        throw new IllegalArgumentException("neither a URI nor servers to start");
      }
      StormRun run = new StormRun(settings, uri, deployment);
      try (run.kit) {
        return run.rage();
      }
    }
  }

  /** Servers of our own are there, but a driver that was just loaded may be late. */
  private static Kit start(String uri, boolean ours) throws Exception {
    RunningTime time = new RunningTime();
    while (true) {
      try {
        return Kit.start(Harness.at(uri));
      } catch (LockUnavailableException e) {
        if (!ours || !time.isWithin(FIRST_ANSWER)) {
          throw e;
        }
      }
    }
  }

  private Harness harness() {
    Harness given = settings.harness();
    return given == null ? Harness.at(uri) : given;
  }

  private boolean behindProxies() throws Exception {
    return kit.info().failureModel().under(Fault.PARTITION) != Survives.NOT_APPLICABLE
        && kit.staysBehindProxies();
  }

  /** Whether other processes see the same locks. */
  private boolean isShared() {
    return kit.info().failureModel().under(Fault.CLIENT_KILLED) != Survives.NOT_APPLICABLE;
  }

  private StormResult rage() throws Exception {
    Files.createDirectories(settings.folder());
    List<String> names = new ArrayList<>();
    for (int n = 0; n < NAMES; n++) {
      names.add(kit.newName());
    }
    try (GuardedStore store = GuardedStore.start();
        Crew crew = new Crew()) {
      tell("starting the clients");
      hire(crew, names, store.port());
      crew.awaitWorking(FIRST_ANSWER);

      Ground ground =
          new Ground(kit, uri, deployment, crew, List.copyOf(names), timing.renewedTtl());
      Plan plan = Nemesis.plan(settings.seed(), settings.duration(), ground, settings.beyond());
      Instant started = Instant.now();
      long origin = System.nanoTime();
      tell("the storm begins, with seed " + settings.seed());
      List<Blow> blows = new Nemesis(ground, plan).rage(settings.duration(), settings.stopped());
      Duration lasted = Duration.ofNanos(System.nanoTime() - origin);

      tell("everything is healed; everybody has to get every lock");
      crew.stopWork();
      crew.probe();
      crew.outliveTheAbandoned();
      crew.closeWork();
      tell("looking for residue");
      List<String> residue = residue(names);
      return decide(crew, plan, started, origin, lasted, names, blows, store.damage(), residue);
    }
  }

  private StormResult decide(
      Crew crew,
      Plan plan,
      Instant started,
      long origin,
      Duration lasted,
      List<String> names,
      List<Blow> blows,
      Damage damage,
      List<String> residue)
      throws IOException {
    Records records = Records.read(crew.all());
    Verdict verdict =
        new Verdict(records, blows, timing.bound())
            .decide(
                crew.all().stream().collect(Collectors.toMap(Client::name, Client::stops)),
                damage,
                residue);
    tell(verdict.findings().isEmpty() ? "no violation" : "violated: " + verdict.findings());
    return new StormResult(
        settings.name(),
        kit.info().name(),
        kit.endpoint(),
        deployment == null ? "" : deployment.how() + ", version " + deployment.version(),
        plan,
        started,
        origin,
        lasted,
        crew.all().stream().map(Client::name).toList(),
        names,
        blows,
        verdict.held(),
        verdict.tally(),
        damage,
        verdict.overlapsOutside(),
        verdict.overlapsExposed(),
        verdict.slowest(),
        records.growth(),
        verdict.findings(),
        verdict.counterExample());
  }

  private void tell(String what) {
    settings.progress().accept(what);
  }

  private void hire(Crew crew, List<String> names, int storePort) throws Exception {
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
              timing.renewedTtl(),
              timing.ttl(),
              timing.requestTimeout(),
              timing.bound(),
              storePort,
              journal);
      Network network = proxied ? kit.network(uri).orElse(null) : null;
      String way = network == null ? uri : network.uri();
      crew.add(
          c < processes
              ? new ClientProcess(assignment, harness(), uri, network)
              : new ClientThreads(
                  assignment, network, () -> harness().open(way, assignment.options())));
    }
  }

  private List<String> residue(List<String> names) throws InterruptedException {
    LockOptions options =
        LockOptions.builder()
            .ttl(timing.renewedTtl())
            .requestTimeout(timing.requestTimeout())
            .build();
    try (LockClient client = kit.open(uri, options)) {
      return Residue.await(
          client, deployment, names, timing.renewedTtl().plus(timing.bound()).multipliedBy(2));
    }
  }

  /** For messages: which backend. */
  @Override
  public String toString() {
    return "a storm over " + settings.name() + Map.of("seed", settings.seed());
  }
}
