package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Servers whose {@code maxSessionTimeout} is changed, so that a client that reconnects gets a
 * shorter session than it had.
 */
@Execution(ExecutionMode.CONCURRENT)
class ChangedSessionTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final long LIMIT_SECONDS = 60;
  private static final Duration INITIAL_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration SHORTENED_TIMEOUT = Duration.ofSeconds(12);
  private static final LockOptions OPTIONS =
      Backends.OPTIONS.toBuilder().ttl(INITIAL_TIMEOUT).build();

  @AutoClose private ZooKeeperEnsemble ensemble;

  @BeforeEach
  void start() {
    ensemble = Backends.server();
  }

  @Test
  void leasesAreLostAndNoValidityExceedsTheNewTimeout() throws Exception {
    try (LockClient client = LockClient.open(Backends.uri(ensemble), OPTIONS);
        LockClient other = LockClient.open(Backends.uri(ensemble), OPTIONS)) {
      requireShortenedInOrder(client, other);
    }
  }

  @Test
  void aProgramsFrameworkLosesItsLeasesInTheSameWay() throws Exception {
    // For a server that starts, the usual driver waits for the time-out, shared by the addresses.
    String addresses = String.join(",", Collections.nCopies(6, ensemble.connectString()));
    try (CuratorFramework one = Backends.curator(addresses, INITIAL_TIMEOUT);
        CuratorFramework two = Backends.curator(addresses, INITIAL_TIMEOUT);
        LockClient client = ZooKeeperLocks.using(one, Backends.SETTINGS, OPTIONS);
        LockClient other = ZooKeeperLocks.using(two, Backends.SETTINGS, OPTIONS)) {
      long session = one.getZookeeperClient().getZooKeeper().getSessionId();
      requireShortenedInOrder(client, other);
      assertEquals(session, one.getZookeeperClient().getZooKeeper().getSessionId());
    }
  }

  private void requireShortenedInOrder(LockClient client, LockClient other) throws Exception {
    Lease lease = client.lock("job").acquire();
    CompletableFuture<Lease> waiter = other.lock("job").acquireAsync();
    Eventually.holds("it waits", () -> client.admin().inspect("job").waiters().size() == 1);
    restartWith(SHORTENED_TIMEOUT);
    LeaseLostException loss = lease.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS);
    assertEquals(LossReason.SESSION_ENDED, loss.reason());
    assertTrue(
        loss.detail().contains("got another time-out: 12000 ms instead of 60000"), loss::detail);
    assertFalse(lease.isHeld());
    // Its node is gone, and the waiter has joined the queue with its shortened session.
    Lease next = waiter.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    assertTrue(next.fencingToken() > lease.fencingToken());
    assertTrue(
        next.remainingValidity().compareTo(SHORTENED_TIMEOUT) < 0,
        () -> next.remainingValidity().toString());
    next.renew();
    assertTrue(
        next.remainingValidity().compareTo(SHORTENED_TIMEOUT) < 0,
        () -> next.remainingValidity().toString());
    next.release();
    Lease last = client.lock("job").tryAcquire(Duration.ofSeconds(LIMIT_SECONDS)).orElseThrow();
    restartWith(INITIAL_TIMEOUT);
    last.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS);
    Lease longer = client.lock("job").tryAcquire(Duration.ofSeconds(LIMIT_SECONDS)).orElseThrow();
    assertTrue(longer.remainingValidity().compareTo(SHORTENED_TIMEOUT) > 0);
    longer.release();
  }

  @Test
  void aTimeoutThatHasBecomeTooShortIsRefusedWithTheReason() throws Exception {
    // Four of these ticks are more than the shortened time-out.
    String uri = ensemble.uri() + "?tickTime=4s";
    try (LockClient client = LockClient.open(uri, OPTIONS)) {
      Lease lease = client.lock("job").acquire();
      restartWith(SHORTENED_TIMEOUT);
      lease.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS);
      LockConfigurationException refused =
          assertThrows(LockConfigurationException.class, () -> acquire(client));
      assertTrue(refused.getMessage().contains("raise the servers'"), refused::getMessage);
      Eventually.holds("no node is left", () -> client.admin().inspect("job").waiters().isEmpty());
      Eventually.holds("no node is left", () -> !client.admin().inspect("job").isHeld());
    }
  }

  private static Lease acquire(LockClient client) throws InterruptedException {
    while (true) {
      try {
        return client.lock("job").acquire();
      } catch (LockUnavailableException e) {
        // It is not connected again yet.
      }
    }
  }

  private void restartWith(Duration maxSessionTimeout) throws IOException {
    ZooKeeperServer server = ensemble.members().get(0);
    Path data =
        Path.of(server.ask("conf").replaceAll("(?s).*dataDir=([^\n]*)/version-2\n.*", "$1"));
    Path configuration = data.resolveSibling("zoo.cfg");
    List<String> lines = new ArrayList<>(Files.readAllLines(configuration));
    lines.removeIf(line -> line.startsWith("maxSessionTimeout="));
    lines.add("maxSessionTimeout=" + maxSessionTimeout.toMillis());
    Files.write(configuration, lines);
    server.kill();
    server.restart();
  }
}
