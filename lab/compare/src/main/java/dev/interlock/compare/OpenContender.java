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
 * A contender whose store has answered: our own servers, or the user's store.
 *
 * @param uri where the store is, passwords included: not for messages
 * @param ours its servers; null if they are the user's
 * @param gone whether it has stopped answering
 */
record OpenContender(
    Contender contender,
    String uri,
    String endpoint,
    Kit kit,
    @Nullable Deployment ours,
    AtomicBoolean gone)
    implements AutoCloseable {

  /** Long enough for every interleaved round, so that no renewal is measured by accident. */
  private static final Duration LONG_TTL = Duration.ofSeconds(30);

  private static final Duration FIRST_ANSWER = Duration.ofSeconds(30);

  /** Starts its servers, if it has any, and acquires a lock to see that they serve. */
  static OpenContender open(Contender contender) throws Exception {
    Deployment deployment = contender.startServers().orElse(null);
    try {
      String where = deployment == null ? contender.uri() : deployment.uri();
      if (where == null) {
        throw new IllegalStateException("neither a URI nor servers");
      }
      return see(contender, where, deployment);
    } catch (Exception e) {
      if (deployment != null) {
        deployment.close();
      }
      throw e;
    }
  }

  /** Our own servers are there, but a driver that was just loaded may be late on a busy machine. */
  private static OpenContender see(Contender contender, String uri, @Nullable Deployment deployment)
      throws Exception {
    long end = System.nanoTime() + FIRST_ANSWER.toNanos();
    while (true) {
      Kit kit = Kit.start(Harness.at(uri));
      try (LockClient client = LockClient.open(uri, options())) {
        client.lock(kit.newName()).tryAcquire(Locking.PATIENCE).ifPresent(Lease::release);
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

  /** What it is called in the report; no two have the same name. */
  String name() {
    return contender.name();
  }

  BackendInfo info() {
    return kit.info();
  }

  /** What the report says about it. */
  Findings.Backend describe() {
    return new Findings.Backend(
        name(),
        contender.scheme(),
        endpoint,
        ours == null ? "" : ours.how() + ", version " + ours.version(),
        contender.durability(),
        driver().map(BareDriver::summary).orElse(""),
        info().summary(),
        List.copyOf(new TreeSet<>(info().capabilities())),
        info().failureModel().table());
  }

  /** Its servers, if they are ours. */
  Optional<Deployment> deployment() {
    return Optional.ofNullable(ours);
  }

  /** Whether other processes see the same locks. */
  boolean isShared() {
    return info().failureModel().under(Fault.CLIENT_KILLED) != Guarantee.NOT_APPLICABLE;
  }

  /** Whether it has stopped answering, so that nothing more is tried. */
  boolean isGone() {
    return gone.get();
  }

  void markGone() {
    gone.set(true);
  }

  /** A lock name that is not used elsewhere. */
  String newName() {
    return kit.newName();
  }

  /** Options with which failures are noticed soon. */
  static LockOptions options() {
    return options(LONG_TTL);
  }

  static LockOptions options(Duration ttl) {
    return LockOptions.builder().ttl(ttl).requestTimeout(BareDriver.REQUEST_TIMEOUT).build();
  }

  LockClient open() {
    return LockClient.open(uri, options());
  }

  /** A client of ours that reaches the store by another URI. */
  static Locking locking(String uri) {
    return Locking.by(LockClient.open(uri, options()));
  }

  /** A network in front of the store, if its clients stay behind it. */
  Optional<Network> network() throws Exception {
    return kit.staysBehindProxies() ? kit.network(uri) : Optional.empty();
  }

  /** Another JVM with a client. */
  OtherProcess otherProcess(String uri, LockOptions options)
      throws IOException, InterruptedException {
    return OtherProcess.start(
        new OtherProcess.Settings(Harness.at(uri), uri, options, List.of(), /* trace= */ false));
  }

  /** The baseline of this backend's store. */
  Optional<BareDriver> driver() {
    return BareDriver.of(contender.scheme());
  }

  /** The baseline, connected. */
  BareDriver.Session baseline(String uri, int threads) throws Exception {
    return driver()
        .orElseThrow(() -> new IllegalStateException("no bare driver"))
        .open(uri, threads);
  }

  @Override
  public void close() {
    try {
      kit.close();
    } finally {
      if (ours != null) {
        ours.close();
      }
    }
  }

  @Override
  public String toString() {
    return name();
  }
}
