package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/**
 * A member that has lost the others goes on answering pings and reads for a while. Meanwhile the
 * others may end the session, so neither may keep a lease valid.
 */
class CutOffMemberTest {

  private static final long LIMIT_SECONDS = 60;
  private static final Duration TTL = Duration.ofSeconds(10);

  // Longer than the test, so that unanswered requests do not make the client leave the member.
  private static final LockOptions OPTIONS =
      LockOptions.builder().ttl(TTL).requestTimeout(Duration.ofSeconds(20)).build();

  @Test
  void pingsAndReadsDoNotKeepALeaseValid() throws Exception {
    try (ZooKeeperEnsemble ensemble =
        Testbed.zookeeper()
            .withoutSync()
            .members(3)
            .tick(Backends.TICK)
            // For a minute no member gives up on another.
            .config("syncLimit=300")
            .start()) {
      ZooKeeperServer member = follower(ensemble);
      List<ZooKeeperServer> others =
          ensemble.members().stream().filter(each -> each != member).toList();
      String address = "127.0.0.1:" + member.port();
      try (CuratorFramework reader = Backends.curator(address);
          CuratorFramework curator = Backends.curator(address, TTL);
          LockClient client = ZooKeeperLocks.using(curator, Backends.SETTINGS, OPTIONS)) {
        Lease lease = client.lock("cut off").acquire();
        reader.getData().forPath("/");

        others.forEach(DisposableServer::pause);
        long pausedAt = System.nanoTime();
        // Nothing is committed any more, so all validity stems from earlier requests.
        Duration certain = Backends.certain(TTL);
        for (long now = pausedAt; lease.isHeld(); now = System.nanoTime()) {
          long age = now - pausedAt;
          assertTrue(age < certain.toNanos(), () -> "held " + Duration.ofNanos(age) + " later");
          reader.getData().forPath("/");
          TimeUnit.MILLISECONDS.sleep(20); // reads often, and leaves the processors to others
        }
        assertEquals(
            LossReason.EXPIRED, lease.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS).reason());
        reader.getData().forPath("/");

        others.forEach(DisposableServer::resume);
        try (LockClient other = Backends.client(ensemble)) {
          Duration limit = Duration.ofSeconds(LIMIT_SECONDS);
          Lease next = other.lock("cut off").tryAcquire(limit).orElseThrow();
          assertTrue(next.fencingToken() > lease.fencingToken());
          next.release();
        }
      } finally {
        others.forEach(DisposableServer::resume);
      }
    }
  }

  private static ZooKeeperServer follower(ZooKeeperEnsemble ensemble) throws Exception {
    for (ZooKeeperServer member : ensemble.members()) {
      if (member.ask("srvr").contains("Mode: follower")) {
        return member;
      }
    }
    throw new AssertionError("no member follows");
  }
}
