package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Contract;
import dev.interlock.tck.Server;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The adapters work, and docs/peers.md is what was found. To write it anew, run this test with
 * {@code -Dinterlock.docs.write}.
 */
class PeersTest {
  private static final Path PAGE = Path.of("../docs/peers.md");

  private static List<PeerHarness> peers() {
    return Peers.all();
  }

  @ParameterizedTest
  @MethodSource("peers")
  void aLockIsAcquiredRefusedToOthersAndReleased(PeerHarness peer) throws Exception {
    LockOptions options = LockOptions.builder().ttl(Duration.ofSeconds(20)).build();
    try (Server server = peer.start();
        LockClient one = peer.open(server.uri(), options);
        LockClient other = peer.open(server.uri(), options)) {
      Lease lease = one.lock("job").tryAcquire(Duration.ofSeconds(10)).orElseThrow();
      assertTrue(other.lock("job").tryAcquire().isEmpty());
      assertNotEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
      assertTrue(other.lock("job").tryAcquire(Duration.ofSeconds(10)).isPresent());
    }
  }

  @Test
  void thePageShowsWhatWasFound() throws Exception {
    String current = new Page(KitOnPeersTest.RESULTS).markdown();
    if (System.getProperty("interlock.docs.write") != null) {
      Files.writeString(PAGE, current, UTF_8);
    }
    assertEquals(current, Files.readString(PAGE, UTF_8), "write it with -Dinterlock.docs.write");
  }

  @Test
  void whatIsBrokenIsShownByAProgram() throws Exception {
    TreeSet<String> keys = new TreeSet<>();
    Peers.all().forEach(peer -> keys.add(peer.key()));
    for (Finding finding : Finding.all()) {
      assertTrue(keys.containsAll(finding.peers()), finding::title);
      finding.rules().forEach(rule -> assertTrue(Contract.load().find(rule).isPresent(), rule));
      Path printed = KitOnPeersTest.RESULTS.resolve(finding.program() + ".txt");
      assertTrue(Files.exists(printed), printed + " is missing; see ReproductionsTest");
    }
  }
}
