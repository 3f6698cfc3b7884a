package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A TLS connection that breaks during its handshake is a temporary failure. */
@Execution(ExecutionMode.CONCURRENT)
class SecuredTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final int[] CUTS = {0, 6, 100, 900};
  private static final ExecutorService THREADS = Executors.newCachedThreadPool();

  @Test
  void aRestartOfTheServerLosesNoLeaseAndNoWaiter() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().clientCertificates().start();
        LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient waiting = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      EtcdServer server = etcd.leader();
      Lease lease = holder.lock("job").acquire();
      CompletableFuture<Lease> waiter = waiting.lock("job").acquireAsync();
      Eventually.holds("it waits", () -> holder.admin().inspect("job").waiters().size() == 1);
      for (int i = 0; i < 3; i++) {
        server.restart();
      }
      lease.renew();
      assertTrue(lease.isHeld());
      assertFalse(waiter.isDone());
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
      waiter.get(60, TimeUnit.SECONDS).release();
    }
  }

  /** The handshake is cut at several points, repeatedly. */
  @Test
  @Tag("extended")
  void anAbortedHandshakeIsATemporaryFailure() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().clientCertificates().start()) {
      List<CompletableFuture<Void>> attempts = new ArrayList<>();
      for (int bytes : CUTS) {
        for (Direction direction : Direction.values()) {
          attempts.add(
              CompletableFuture.runAsync(() -> cutHandshake(etcd, direction, bytes), THREADS));
        }
      }
      for (CompletableFuture<Void> attempt : attempts) {
        attempt.get(120, TimeUnit.SECONDS);
      }
    } finally {
      THREADS.shutdownNow();
    }
  }

  /** Other alerts occur, for example, while the server's certificate is being replaced. */
  @Test
  void onlyLastingAlertsAreConfigurationErrors() {
    assertInstanceOf(
        LockUnavailableException.class, explained("Received fatal alert: internal_error"));
    for (String alert :
        List.of("Received fatal alert: protocol_version", "not an SSL/TLS record: 00")) {
      assertInstanceOf(LockConfigurationException.class, explained(alert));
    }
  }

  private static LockException explained(String alert) {
    return new Failures("a:1")
        .explain(
            Status.UNAVAILABLE
                .withDescription("io exception")
                .withCause(new SSLException(alert))
                .asRuntimeException());
  }

  private static void cutHandshake(EtcdCluster etcd, Direction direction, int bytes) {
    String name = direction + "-" + bytes;
    LockOptions hasty = LONG_TIMEOUT.toBuilder().requestTimeout(Duration.ofSeconds(5)).build();
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", etcd.leader().port())) {
      String uri = etcd.uri().replace(":" + etcd.leader().port(), ":" + proxy.port());
      try (LockClient client = LockClient.open(uri, hasty)) {
        client.lock(name).acquire().release();
        AtomicBoolean over = new AtomicBoolean();
        NetworkFault first = proxy.dropAfter(direction, bytes);
        CompletableFuture<Void> faults =
            CompletableFuture.runAsync(
                () -> repeatUntilCut(proxy, direction, bytes, first, over), THREADS);
        int unused = proxy.reset();
        try {
          // An attempt between two faults may succeed.
          client.lock(name).tryAcquire().ifPresent(Lease::release);
        } catch (LockUnavailableException e) {
          // Any other exception fails the test.
        }
        over.set(true);
        proxy.heal();
        faults.get(60, TimeUnit.SECONDS);
        client.lock(name).acquire().release();
      }
    } catch (Exception e) {
      throw new AssertionError(name, e);
    }
  }

  private static void repeatUntilCut(
      FaultProxy proxy, Direction direction, int bytes, NetworkFault first, AtomicBoolean over) {
    NetworkFault fault = first;
    try {
      while (!over.get()) {
        if (fault.awaitHit(Duration.ofMillis(20))) {
          fault.close();
          fault = proxy.dropAfter(direction, bytes);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      fault.close();
    }
  }
}
