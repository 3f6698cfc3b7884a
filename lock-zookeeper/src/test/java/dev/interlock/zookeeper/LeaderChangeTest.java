package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A change of the leader on servers with ZooKeeper's usual tick of 2 s. */
@Tag("extended")
class LeaderChangeTest {

  private static final Duration TTL = Duration.ofSeconds(40);
  private static final Duration TICK = Duration.ofSeconds(2);

  /** The other servers notice after five ticks that a stopped leader is silent. */
  @Test
  void theFirstRenewalWithANewLeaderCountsInFull() throws Exception {
    try (ZooKeeperEnsemble ensemble =
            Testbed.zookeeper().withoutSync().members(3).tick(TICK).start();
        LockClient client =
            LockClient.open(ensemble.uri(), LockOptions.builder().ttl(TTL).build())) {
      Lease lease = client.lock("kept").acquire();
      lease.renew();
      Duration usual = lease.remainingValidity();
      ZooKeeperServer former = ensemble.leader();
      former.pause();
      try {
        awaitCommit(client);
        long connectedAt = System.nanoTime();
        lease.renew();
        Duration took = Duration.ofNanos(System.nanoTime() - connectedAt);
        Duration confirmed = lease.remainingValidity();
        assertTrue(
            confirmed.compareTo(usual.multipliedBy(3).dividedBy(4)) > 0,
            () -> confirmed + " are certain, usually " + usual);
        assertTrue(took.compareTo(TICK.multipliedBy(2)) < 0, () -> "renewed after " + took);
      } finally {
        former.resume();
      }
      lease.release();
    }
  }

  private static void awaitCommit(LockClient client) throws InterruptedException {
    while (true) {
      try {
        var unused = client.admin().inspect("other");
        return;
      } catch (LockUnavailableException e) {
        // There is no leader yet.
      }
    }
  }
}
