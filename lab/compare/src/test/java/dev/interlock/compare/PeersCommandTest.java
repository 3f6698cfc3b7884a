package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the arguments, and which of them are refused before a server starts. */
class PeersCommandTest {

  private static PeersCommand parse(String line) {
    PeersCommand command =
        (PeersCommand)
            BenchCommand.commandLine()
                .parseArgs(("peers " + line).trim().split(" "))
                .subcommand()
                .commandSpec()
                .userObject();
    command.check();
    return command;
  }

  @Test
  void withoutArgumentsEverythingIsMeasured() {
    PeersCommand all = parse("");
    assertEquals(Set.of(Store.values()), all.stores());
    assertEquals(BenchProfile.usual(), all.profile());
  }

  @Test
  void someStoresMayBeNamed() {
    assertEquals(Set.of(Store.ETCD, Store.REDIS), parse("etcd redis etcd").stores());
  }

  @Test
  void roundsApplyBeforeAndAfterQuick() {
    BenchProfile expected = BenchProfile.quick().withRounds(3);
    assertEquals(expected, parse("--quick --rounds 3").profile());
    assertEquals(expected, parse("--rounds 3 --quick").profile());
  }

  @Test
  void theReportMayGoToAFile(@TempDir Path directory) {
    assertEquals(Set.of(Store.REDIS), parse("redis --out " + directory.resolve("a")).stores());
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
  void invalidArgumentsAreRefused(String line) {
    RuntimeException refusal = assertThrows(RuntimeException.class, () -> parse(line));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains(line.split(" ")[0]), message);
  }

  @Test
  void theMessageForAMistypedStoreListsAllStores() {
    RuntimeException refusal = assertThrows(RuntimeException.class, () -> parse("zookeper"));
    assertTrue(
        String.valueOf(refusal.getMessage()).contains("redis, redlock, zookeeper, etcd"),
        refusal::getMessage);
  }
}
