package dev.interlock.bench.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.bench.Backend;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is asked for, and what is refused before a server is started. */
class PeersTest {

  private static Peers parse(String line) {
    Peers peers = new Peers();
    Peers.commandLine(peers).parseArgs(line.isEmpty() ? new String[0] : line.split(" "));
    peers.check();
    return peers;
  }

  @Test
  void withoutWordsEverythingIsMeasured() {
    Peers all = parse("");
    assertEquals(Set.of(Backend.values()), all.backends());
    assertEquals(Profile.usual(), all.profile());
  }

  @Test
  void someStoresMayBeNamed() {
    assertEquals(Set.of(Backend.ETCD, Backend.REDIS), parse("etcd redis etcd").backends());
  }

  @Test
  void roundsCountWhetherTheyStandBeforeOrAfterQuick() {
    Profile expected = Profile.quick().withRounds(3);
    assertEquals(expected, parse("--quick --rounds 3").profile());
    assertEquals(expected, parse("--rounds 3 --quick").profile());
  }

  @Test
  void theReportMayGoToAFile(@TempDir Path directory) {
    assertEquals(Set.of(Backend.REDIS), parse("redis --out " + directory.resolve("a")).backends());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "consul",
        "--fast",
        "--rounds",
        "--rounds many",
        "--rounds 0",
        "--rounds 1001",
        "--out",
        "--out /no/such/directory/report.md",
        "--out /"
      })
  void whatIsWrongIsRefused(String line) {
    RuntimeException refusal = assertThrows(RuntimeException.class, () -> parse(line));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains(line.split(" ")[0]), message);
  }

  @Test
  void aMistypedStoreIsAnsweredWithThoseThatThereAre() {
    RuntimeException refusal = assertThrows(RuntimeException.class, () -> parse("zookeper"));
    assertTrue(
        String.valueOf(refusal.getMessage()).contains("redis, redlock, zookeeper, etcd"),
        refusal::getMessage);
  }
}
