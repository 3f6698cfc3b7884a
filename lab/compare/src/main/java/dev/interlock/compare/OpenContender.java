package dev.interlock.compare;

import dev.interlock.BackendInfo;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.compare.baseline.BareDriver;
import dev.interlock.report.Contender;
import dev.interlock.tck.Harness;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.run.Kit;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A contender whose store has answered.
 *
 * @param uri the URI of the store; it may have a password, so it must not appear in messages
 * @param servers the servers that were started for it; null for a store of the user
 * @param gone whether the store has stopped answering
 */
record OpenContender(
    Contender contender,
    String uri,
    String endpoint,
    Kit kit,
    @Nullable Deployment servers,
    AtomicBoolean gone)
    implements AutoCloseable {

  /** Longer than a round, so that no renewal falls into one. */
  private static final Duration LONG_TTL = Duration.ofSeconds(30);

  private static final Duration FIRST_ANSWER_TIMEOUT = Duration.ofSeconds(30);

  /** Starts the servers, if they are ours, and acquires a lock to check that they answer. */
  static OpenContender open(Contender contender) throws Exception {
    Deployment deployment = contender.startServers().orElse(null);
    try {
      String where = deployment == null ? contender.uri() : deployment.uri();
      if (where == null) {
        throw new IllegalStateException("the contender has neither a URI nor servers");
      }
      return awaitAnswer(contender, where, deployment);
    } catch (Exception e) {
      if (deployment != null) {
        deployment.close();
      }
      throw e;
    }
  }

  /**
   * Acquires a lock. Retries with our own servers, since a driver's first request may time out on a
   * busy machine.
   */
  private static OpenContender awaitAnswer(
      Contender contender, String uri, @Nullable Deployment deployment) throws Exception {
    long end = System.nanoTime() + FIRST_ANSWER_TIMEOUT.toNanos();
    while (true) {
      Kit kit = Kit.start(Harness.at(uri));
      try (LockClient client = LockClient.open(uri, options())) {
        client
            .lock(kit.newName())
            .tryAcquire(Locking.UNCONTENDED_TIMEOUT)
            .ifPresent(Lease::release);
        return new OpenContender(
            contender, uri, client.endpoint(), kit, deployment, new AtomicBoolean());
      } catch (RuntimeException | InterruptedException e) {
        kit.close();
        if (deployment == null
            || !(e instanceof LockUnavailableException)
            || System.nanoTime() - end > 0) {
          throw e;
        }
      }
    }
  }

  /** {@return its unique name in the report} */
  String name() {
    return contender.name();
  }

  BackendInfo info() {
    return kit.info();
  }

  /** {@return its description in the report} */
  Findings.Backend describe() {
    return new Findings.Backend(
        name(),
        contender.scheme(),
        endpoint,
        servers == null ? "" : servers.source() + ", version " + servers.version(),
        contender.durability(),
        driver().map(BareDriver::summary).orElse(""),
        info().summary(),
        List.copyOf(new TreeSet<>(info().capabilities())),
        info().failureModel().table());
  }

  /** {@return its servers, if they were started for it} */
  Optional<Deployment> deployment() {
    return Optional.ofNullable(servers);
  }

  /** {@return whether other processes see the same locks} */
  boolean isShared() {
    return info().failureModel().under(Fault.CLIENT_KILLED) != Guarantee.NOT_APPLICABLE;
  }

  /** {@return whether the store has stopped answering, so that nothing more is measured on it} */
  boolean isGone() {
    return gone.get();
  }

  void markGone() {
    gone.set(true);
  }

  /** {@return an unused lock name} */
  String newName() {
    return kit.newName();
  }

  /** {@return options with a short request time-out} */
  static LockOptions options() {
    return options(LONG_TTL);
  }

  static LockOptions options(Duration ttl) {
    return LockOptions.builder().ttl(ttl).requestTimeout(BareDriver.REQUEST_TIMEOUT).build();
  }

  LockClient open() {
    return LockClient.open(uri, options());
  }

  /** Opens a client of ours at another URI of the store. */
  static Locking locking(String uri) {
    return Locking.locks(LockClient.open(uri, options()));
  }

  /** {@return a network with proxies in front of the store; empty if clients would bypass it} */
  Optional<Network> network() throws Exception {
    return kit.staysBehindProxies() ? kit.network(uri) : Optional.empty();
  }

  /** Starts another JVM with a client. */
  OtherProcess otherProcess(String uri, LockOptions options)
      throws IOException, InterruptedException {
    return OtherProcess.start(
        new OtherProcess.Settings(Harness.at(uri), uri, options, List.of(), /* trace= */ false));
  }

  /** {@return the bare driver of the store, if there is one} */
  Optional<BareDriver> driver() {
    return BareDriver.of(contender.scheme());
  }

  /** Connects the bare driver. */
  BareDriver.Session baseline(String uri, int threads) throws Exception {
    return driver()
        .orElseThrow(
            () -> new IllegalStateException("there is no bare driver for " + contender.scheme()))
        .open(uri, threads);
  }

  @Override
  public void close() {
    try {
      kit.close();
    } finally {
      if (servers != null) {
        servers.close();
      }
    }
  }

  @Override
  public String toString() {
    return name();
  }
}
