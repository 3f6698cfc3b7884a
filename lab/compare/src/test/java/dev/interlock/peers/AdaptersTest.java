package dev.interlock.peers;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Server;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests each adapter on a server of its own. */
class AdaptersTest {

  private static List<PeerHarness> peers() {
    return Peers.all();
  }

  @ParameterizedTest
  @MethodSource("peers")
  void aLockIsAcquiredRefusedToOthersAndReleased(PeerHarness peer) throws Exception {
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.ofSeconds(40))
            .requestTimeout(Duration.ofSeconds(15))
            .build();
    try (Server server = peer.start();
        LockClient one = peer.open(server.uri(), options);
        LockClient other = peer.open(server.uri(), options)) {
      Lease lease = one.lock("job").tryAcquire(Duration.ofSeconds(10)).orElseThrow();
      assertTrue(other.lock("job").tryAcquire().isEmpty());
      assertNotEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
      assertTrue(other.lock("job").tryAcquire(Duration.ofSeconds(10)).isPresent());
    }
  }
}
