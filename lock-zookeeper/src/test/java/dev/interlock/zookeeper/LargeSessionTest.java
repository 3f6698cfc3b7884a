package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Servers write the paths of all nodes of a session into one transaction when it ends. They cannot
 * read a transaction that is longer than twice their {@code jute.maxbuffer}: they do not accept it
 * from the leader, and do not start with it in their log (ZOOKEEPER-4306).
 */
class LargeSessionTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  /** Twice this is a little more than the limit of a session. */
  private static final int MAX_BUFFER = 270_000;

  private static final int SHORT_OF_MAX = 250;

  /** The number of nodes whose paths would take more than twice the buffer. */
  private static final int TOO_MANY = 310;

  /** Every character takes nine bytes of a path. */
  private static final String LONG_NAME = "→".repeat(190);

  private static ZooKeeperEnsemble server() {
    return Testbed.zookeeper()
        .withoutSync()
        .tick(Backends.TICK)
        .jvmFlags("-Djute.maxbuffer=" + MAX_BUFFER, "-Dzookeeper.forceSync=no")
        .start();
  }

  @Test
  void aServerStartsAgainAfterTheEndOfAClientWithManyLeases() throws Exception {
    try (ZooKeeperEnsemble ensemble = server()) {
      try (ZooKeeperBackend backend = Backends.open(Backends.uri(ensemble))) {
        long bytes = 0;
        for (Grant grant : takeAll(backend, LONG_NAME, TOO_MANY)) {
          bytes += ((QueueNode) grant.claim().attachment()).path().length();
        }
        assertTrue(bytes > 2 * MAX_BUFFER, "too few for this test: " + bytes);
      }
      restartAndLock(ensemble);
    }
  }

  @Test
  void aProgramsSessionGetsNoMoreNodesThanAServerCanRead() throws Exception {
    try (ZooKeeperEnsemble ensemble = server()) {
      try (CuratorFramework curator = Backends.curator(ensemble.connectString());
          ZooKeeperBackend one = Backends.on(curator);
          ZooKeeperBackend two = Backends.on(curator)) {
        List<Grant> grants = takeAll(one, LONG_NAME, SHORT_OF_MAX);
        LockConfigurationException refusal =
            assertThrows(
                LockConfigurationException.class, () -> fill(two, TOO_MANY - SHORT_OF_MAX));
        assertTrue(refusal.getMessage().contains("512 KiB"), refusal::getMessage);
        assertTrue(refusal.getMessage().contains("open clients by a URI"), refusal::getMessage);
        assertTrue(one.release(grants.get(0).claim(), Backends.soon()));
        Backends.take(two, Backends.claim("there is room again"));
      }
      restartAndLock(ensemble);
    }
  }

  private static void fill(ZooKeeperBackend backend, int count) throws Exception {
    for (int i = 0; i < count; i++) {
      Backends.take(backend, Backends.claim(LONG_NAME + "-other-" + i));
    }
  }

  @Test
  @Tag("extended")
  void anEnsembleSurvivesAClientThatDiesWithTenThousandLeases() throws Exception {
    try (ZooKeeperEnsemble ensemble =
            Testbed.zookeeper()
                .withoutSync()
                .members(3)
                .tick(Backends.TICK)
                .jvmFlags("-Dzookeeper.forceSync=no")
                .start();
        Network network = Proxies.network(ensemble.uri(), 2181).orElseThrow()) {
      ZooKeeperBackend backend = Backends.open(network.uri() + "?tickTime=200ms");
      try {
        takeAll(backend, "x".repeat(200), 10_000);
        try (Disturbance cut = network.cut()) {
          backend.close();
          Eventually.holds("its sessions end", () -> ephemerals(ensemble) == 0);
        }
      } finally {
        backend.close();
      }
      restartAndLock(ensemble);
    }
  }

  private static long ephemerals(ZooKeeperEnsemble ensemble) throws Exception {
    return ensemble
        .leader()
        .ask("mntr")
        .lines()
        .filter(line -> line.startsWith("zk_ephemerals_count"))
        .mapToLong(line -> Long.parseLong(line.split("\t")[1]))
        .sum();
  }

  /** All servers restart and read their logs, so that none has to send another its state. */
  private static void restartAndLock(ZooKeeperEnsemble ensemble) throws Exception {
    ensemble.members().forEach(ZooKeeperServer::kill);
    ensemble.members().forEach(ZooKeeperServer::restart);
    for (ZooKeeperServer member : ensemble.members()) {
      Eventually.holds("it serves", () -> serves(member));
    }
    try (ZooKeeperBackend backend = Backends.open(Backends.uri(ensemble))) {
      Backends.take(backend, Backends.claim(LONG_NAME + "-0"));
    }
  }

  private static boolean serves(ZooKeeperServer server) {
    assertFalse(server.log().contains("Unreasonable length"), server::log);
    try {
      return server.ask("srvr").contains("Mode: ");
    } catch (IOException e) {
      return false;
    }
  }

  /** Acquires free locks with many threads. */
  private static List<Grant> takeAll(ZooKeeperBackend backend, String name, int count)
      throws Exception {
    List<Callable<Grant>> tasks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Claim claim = Backends.claim(name + "-" + i);
      tasks.add(
          () -> {
            try (Place place = backend.join(claim, Backends.soon())) {
              return Backends.granted(place.await(Backends.soon()));
            }
          });
    }
    ExecutorService threads = Executors.newFixedThreadPool(32);
    try {
      List<Grant> grants = new ArrayList<>();
      for (Future<Grant> each : threads.invokeAll(tasks)) {
        grants.add(each.get());
      }
      assertEquals(count, grants.size());
      return grants;
    } finally {
      threads.shutdownNow();
    }
  }
}
