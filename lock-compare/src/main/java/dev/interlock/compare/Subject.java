package dev.interlock.compare;

import dev.interlock.BackendInfo;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.report.Contender;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Kit;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.testbed.Deployment;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** One backend in the comparison, on a store of its own or on the user's. */
final class Subject implements AutoCloseable {
  static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

  /** Long enough for every interleaved round, so that no renewal is measured by accident. */
  private static final Duration LONG_TTL = Duration.ofSeconds(30);

  private static final Duration FIRST_ANSWER = Duration.ofSeconds(30);

  private final String name;
  private final String scheme;
  private final String uri;
  private final String endpoint;
  private final Kit kit;
  private final @Nullable Deployment deployment;
  private final String durability;
  private volatile boolean gone;

  private Subject(
      String name,
      String scheme,
      String uri,
      String endpoint,
      Kit kit,
      @Nullable Deployment deployment,
      String durability) {
    this.name = name;
    this.scheme = scheme;
    this.uri = uri;
    this.endpoint = endpoint;
    this.kit = kit;
    this.deployment = deployment;
    this.durability = durability;
  }

  /** Starts its servers, if it has any, and takes a lock to see that they serve. */
  static Subject open(Contender contender) throws Exception {
    Deployment deployment = contender.start() == null ? null : contender.start().get();
    try {
      String where = deployment == null ? contender.uri() : deployment.uri();
      if (where == null) {
        throw new IllegalStateException("neither a URI nor servers");
      }
      return deployment == null
          ? see(contender, where, null)
          : seePatiently(contender, where, deployment);
    } catch (Exception e) {
      if (deployment != null) {
        deployment.close();
      }
      throw e;
    }
  }

  /** Our own servers are there, but a driver that was just loaded may be late on a busy machine. */
  private static Subject seePatiently(Contender contender, String where, Deployment deployment)
      throws Exception {
    long end = System.nanoTime() + FIRST_ANSWER.toNanos();
    while (true) {
      try {
        return see(contender, where, deployment);
      } catch (LockUnavailableException e) {
        if (System.nanoTime() - end > 0) {
          throw e;
        }
      }
    }
  }

  private static Subject see(Contender contender, String where, @Nullable Deployment deployment)
      throws Exception {
    Kit kit = Kit.start(Harness.at(where));
    try (LockClient client = LockClient.open(where, options())) {
      Optional<Lease> lease = client.lock(kit.newName()).tryAcquire(Pairs.PATIENCE);
      lease.ifPresent(Lease::release);
      return new Subject(
          contender.name(),
          contender.scheme(),
          where,
          client.endpoint(),
          kit,
          deployment,
          contender.durability());
    } catch (RuntimeException | InterruptedException e) {
      kit.close();
      throw e;
    }
  }

  /** What it is called in the report; no two have the same name. */
  String name() {
    return name;
  }

  String scheme() {
    return scheme;
  }

  /** Where the store is, passwords included: not for messages. */
  String uri() {
    return uri;
  }

  /** Where the store is, for messages. */
  String endpoint() {
    return endpoint;
  }

  BackendInfo info() {
    return kit.info();
  }

  /** Its servers, if they are ours. */
  Optional<Deployment> deployment() {
    return Optional.ofNullable(deployment);
  }

  /** How the servers were got, with their version; empty if they were there. */
  String servers() {
    return deployment == null ? "" : deployment.how() + ", version " + deployment.version();
  }

  String durability() {
    return durability;
  }

  /** Whether other processes see the same locks. */
  boolean isShared() {
    return info().failureModel().under(Fault.CLIENT_KILLED) != Survives.NOT_APPLICABLE;
  }

  /** Whether it has stopped answering, so that nothing more is tried. */
  boolean isGone() {
    return gone;
  }

  void markGone() {
    gone = true;
  }

  /** A lock name that nobody else uses. */
  String newName() {
    return kit.newName();
  }

  /** Options that make failures known soon. */
  static LockOptions options() {
    return options(LONG_TTL);
  }

  static LockOptions options(Duration ttl) {
    return LockOptions.builder().ttl(ttl).requestTimeout(REQUEST_TIMEOUT).build();
  }

  LockClient open() {
    return LockClient.open(uri, options());
  }

  /** A network in front of the store, if its clients stay behind it. */
  Optional<Network> network() throws Exception {
    return kit.staysBehindProxies() ? kit.network(uri) : Optional.empty();
  }

  /** Another JVM with a client. */
  OtherProcess otherProcess(String uri, LockOptions options, String... jvmArguments)
      throws IOException, InterruptedException {
    return OtherProcess.start(
        new OtherProcess.Settings(
            Harness.at(uri), uri, options, List.of(jvmArguments), /* trace= */ false));
  }

  /** The floor of this backend's store. */
  Optional<BareDriver> driver() {
    return ServiceLoader.load(BareDriver.class).stream()
        .flatMap(provider -> made(provider).stream())
        .filter(driver -> driver.schemes().contains(scheme))
        .findFirst();
  }

  /** Empty if its library is not there. */
  private static Optional<BareDriver> made(ServiceLoader.Provider<BareDriver> provider) {
    try {
      return Optional.of(provider.get());
    } catch (ServiceConfigurationError | LinkageError e) {
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    try {
      kit.close();
    } finally {
      if (deployment != null) {
        deployment.close();
      }
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
