package dev.interlock.zookeeper;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Expired leases leave nothing on the server. The kit checks the memory of their clients. */
@Tag("extended")
class ManyExpiredLeasesTest {

  private static final int NAMES = 300;
  private static final long LIMIT_SECONDS = 60;
  private static final LockOptions SHORT_TTL =
      LockOptions.builder()
          .ttl(Duration.ofSeconds(3))
          .autoRenew(false)
          .requestTimeout(Duration.ofSeconds(10))
          .build();

  private final List<CompletableFuture<Void>> waiters = new ArrayList<>();

  @Test
  void nodesWatchesSessionsAndConnectionsReturnToTheirNumbers() throws Exception {
    try (ZooKeeperEnsemble ensemble =
            Testbed.zookeeper()
                .withoutSync()
                .tick(Backends.TICK)
                .jvmFlags("-Dznode.container.checkIntervalMs=500")
                .start();
        CuratorFramework curator = Backends.curator(ensemble.connectString());
        LockClient holder = ZooKeeperLocks.using(curator, Backends.SETTINGS, SHORT_TTL);
        LockClient waiter = Backends.client(ensemble)) {
      ZooKeeperServer server = ensemble.members().get(0);
      String before = counts(server);
      awaitLoss(acquireAll(holder, waiter));
      awaitWaiters();
      awaitCounts(server, before);
      List<Lease> leases = acquireAll(holder, waiter);
      Backends.expire(curator, ensemble.connectString());
      awaitLoss(leases);
      awaitWaiters();
      awaitCounts(server, before);
    }
  }

  /** Waiters acquire some of these locks when they have expired. */
  private List<Lease> acquireAll(LockClient holder, LockClient waiter) throws Exception {
    List<CompletableFuture<Lease>> acquired = new ArrayList<>();
    for (int i = 0; i < NAMES; i++) {
      acquired.add(holder.lock("name-" + i).acquireAsync());
    }
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < NAMES; i++) {
      leases.add(acquired.get(i).get(LIMIT_SECONDS, TimeUnit.SECONDS));
      if (i % 10 == 0) {
        waiters.add(waiter.lock("name-" + i).acquireAsync().thenAccept(Lease::release));
      }
    }
    return leases;
  }

  private void awaitWaiters() throws Exception {
    for (CompletableFuture<Void> waiter : waiters) {
      waiter.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }
  }

  private static void awaitLoss(List<Lease> leases) throws Exception {
    for (Lease lease : leases) {
      lease.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }
  }

  private static void awaitCounts(ZooKeeperServer server, String expected) throws Exception {
    Eventually.holds(expected, () -> counts(server).equals(expected));
  }

  private static String counts(ZooKeeperServer server) throws IOException {
    TreeMap<String, String> counts = new TreeMap<>();
    for (String line : server.ask("mntr").lines().toList()) {
      String[] columns = line.split("\t");
      if (columns[0].matches(
          "zk_(znode_count|ephemerals_count|watch_count|global_sessions|num_alive_connections)")) {
        counts.put(columns[0], columns[1]);
      }
    }
    return counts.toString();
  }
}
