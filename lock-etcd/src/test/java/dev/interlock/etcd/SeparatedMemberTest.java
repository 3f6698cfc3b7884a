package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.ReleaseOutcome;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A member that has lost the others still accepts connections and requests, but does not answer
 * requests that need the others. The driver still sends it its share.
 */
class SeparatedMemberTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  // A request that waits for the member takes at least half of the time-out, any other a few
  // milliseconds.
  private static final Duration LIMIT = Duration.ofSeconds(8);
  private static final int ROUNDS = 10;

  private static final LockOptions OPTIONS =
      LockOptions.builder().requestTimeout(TIMEOUT).ttl(Duration.ofMinutes(2)).build();

  @Test
  void noRequestWaitsForAMemberThatHasLostTheOthers() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().members(3).separable().withoutSync().start();
        LockClient client = LockClient.open(etcd.uri(), OPTIONS)) {
      Lease heldLease = client.lock("held").acquire();
      for (EtcdServer member : List.of(etcd.followers().get(0), etcd.leader())) {
        etcd.cutOff(member);
        Eventually.holds("it has noticed", () -> !knowsLeader(member));
        EtcdServer other = etcd.awaitLeaderOtherThan(member);
        assertTrue(knowsLeader(other));
        List<Duration> took = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
          String name = "job-" + i;
          long from = System.nanoTime();
          Lease lease = client.lock(name).tryAcquire().orElseThrow();
          took.add(since(from));
          from = System.nanoTime();
          lease.renew();
          took.add(since(from));
          from = System.nanoTime();
          assertTrue(client.admin().inspect(name).isHeld());
          took.add(since(from));
          from = System.nanoTime();
          assertEquals(ReleaseOutcome.RELEASED, lease.release());
          took.add(since(from));
        }
        assertTrue(
            Collections.max(took).compareTo(LIMIT) < 0,
            () -> "without " + member.name() + ": " + took);
        etcd.heal();
      }
      assertTrue(heldLease.isHeld());
    }
  }

  private static Duration since(long from) {
    return Duration.ofNanos(System.nanoTime() - from);
  }

  private static boolean knowsLeader(EtcdServer member) throws Exception {
    return member.call("/v3/maintenance/status", "{}").contains("\"leader\"");
  }
}
