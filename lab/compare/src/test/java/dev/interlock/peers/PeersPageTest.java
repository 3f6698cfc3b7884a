package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.run.Contract;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Tests that docs/peers-all.md shows the recorded results. With {@code -Dinterlock.docs.write}, it
 * writes the page.
 */
class PeersPageTest {
  private static final Path PAGE = Path.of("../../docs/peers-all.md");

  @Test
  void thePageShowsTheRecordedResults() throws Exception {
    String current = new PeersPage(KitOnPeersTest.RESULTS).markdown();
    if (System.getProperty("interlock.docs.write") != null) {
      Files.writeString(PAGE, current, UTF_8);
    }
    assertEquals(
        current,
        Files.readString(PAGE, UTF_8),
        "docs/peers-all.md is not up to date; run this test with -Dinterlock.docs.write");
  }

  @Test
  void aProgramShowsEachBrokenRule() throws Exception {
    TreeSet<String> keys = new TreeSet<>();
    Peers.all().forEach(peer -> keys.add(peer.key()));
    for (Finding finding : Finding.ALL) {
      assertTrue(keys.containsAll(finding.peers()), finding::title);
      finding.rules().forEach(rule -> assertTrue(Contract.load().find(rule).isPresent(), rule));
      Path printed = KitOnPeersTest.RESULTS.resolve(finding.program() + ".txt");
      assertTrue(Files.exists(printed), printed + " is missing; see ReproductionsTest");
    }
  }

  @Test
  void reasonsNameExistingLocksAndRules() throws Exception {
    Set<String> keys = new HashSet<>(Set.of("any"));
    Peers.all().forEach(peer -> keys.add(peer.key()));
    Contract contract = Contract.load();
    for (Verdict.Known reason : Verdict.Known.ALL) {
      assertTrue(keys.containsAll(reason.locks()), reason::toString);
      reason.rules().forEach(rule -> assertTrue(contract.find(rule).isPresent(), rule));
    }
  }
}
