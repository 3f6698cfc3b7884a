package dev.interlock.bench.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is asked for, and what is refused before a server is started. */
class ArgumentsTest {

  private static Arguments parse(String line) {
    return Arguments.parse(line.isEmpty() ? List.of() : List.of(line.split(" ")));
  }

  @Test
  void withoutWordsEverythingIsMeasured() {
    Arguments all = parse("");
    assertEquals(Set.of(Backend.values()), all.backends());
    assertEquals(Effort.usual(), all.effort());
    assertEquals(Optional.empty(), all.out());
  }

  @Test
  void someStoresMayBeNamed() {
    assertEquals(Set.of(Backend.ETCD, Backend.REDIS), parse("etcd redis etcd").backends());
  }

  @Test
  void roundsCountWhetherTheyStandBeforeOrAfterQuick() {
    Effort expected = Effort.quick().withRounds(3);
    assertEquals(expected, parse("--quick --rounds 3").effort());
    assertEquals(expected, parse("--rounds 3 --quick").effort());
  }

  @Test
  void theReportMayGoToAFile(@TempDir Path directory) {
    Path file = directory.resolve("report.md");
    assertEquals(Optional.of(file), parse("redis --out " + file).out());
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
    IllegalArgumentException refusal =
        assertThrows(IllegalArgumentException.class, () -> parse(line));
    String word = line.split(" ")[0];
    assertTrue(refusal.getMessage().contains(word), refusal.getMessage());
  }

  @Test
  void whoMistypesAStoreIsToldWhichThereAre() {
    String message =
        assertThrows(IllegalArgumentException.class, () -> parse("zookeper")).getMessage();
    assertTrue(message.contains("redis, redlock, zookeeper, etcd"), message);
  }
}
