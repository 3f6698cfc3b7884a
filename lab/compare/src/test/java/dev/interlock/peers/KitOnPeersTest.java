package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.interlock.tck.report.TestResult;
import dev.interlock.tck.run.ContractRun;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs the kit on all peers and records the results. This takes most of an hour, and happens only
 * with {@code -Dinterlock.docs.write}. {@code -Dinterlock.peers.only=TEXT} selects peers; {@code
 * -Dinterlock.peers.rules=EXCL-*} selects rules, whose results are printed but not recorded.
 */
@Tag("extended")
@EnabledIfSystemProperty(named = "interlock.docs.write", matches = ".*")
class KitOnPeersTest {
  static final Path RESULTS = Path.of("results");
  private static final String RULES = System.getProperty("interlock.peers.rules", "*");

  private static List<PeerHarness> peers() {
    String only = System.getProperty("interlock.peers.only", "");
    return Peers.all().stream().filter(peer -> peer.key().contains(only)).toList();
  }

  @ParameterizedTest
  @MethodSource("peers")
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  void theResultsAreRecorded(PeerHarness peer) throws Exception {
    ContractRun run =
        ContractRun.of(
            peer,
            List.of(RULES.split(",", -1)),
            List.of(),
            new PrintWriter(System.out, true, UTF_8));
    assertFalse(run.tests().isEmpty());
    StringBuilder log = new StringBuilder();
    for (TestResult test : run.tests()) {
      log.append(test.status() + " " + test.rules() + " " + test.test() + " " + test.took() + "\n");
      if (test.status() == TestResult.Status.FAILED) {
        log.append(test.trace()).append("\n");
      } else if (test.reason() != null) {
        log.append("  " + test.reason() + "\n");
      }
    }
    Files.createDirectories(Path.of("target"));
    Files.writeString(Path.of("target", "kit-" + peer.key() + ".log"), log);
    if (RULES.equals("*")) {
      RunResult.of(peer.setUp(), run.rules()).write(RESULTS.resolve(peer.key() + ".tsv"));
    }
  }
}
