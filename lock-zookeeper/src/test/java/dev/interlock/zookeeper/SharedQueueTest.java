package dev.interlock.zookeeper;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests who holds a lock, and which nodes the others wait for, given only the names in its queue.
 */
class SharedQueueTest {

  private static final String ID = "abcdefghijklmnopqrstuvwxyz0-";

  /** The names that versions 0.1 and 0.2 know. They refuse a lock with any other name. */
  private static final Pattern OLDER = Pattern.compile("([A-Za-z0-9_-]{27})-(-?\\d{9,10})");

  /**
   * Parses a queue from a short form.
   *
   * @param shares {@code x} for an exclusive lock, {@code r}, {@code w}, or the likes of {@code
   *     2of5}
   */
  private static LockQueue queue(String shares) {
    List<String> names = new ArrayList<>();
    for (String share : shares.split(" ")) {
      String infix =
          switch (share) {
            case "x" -> "";
            case "r" -> "read-";
            case "w" -> "write-";
            default -> share + "-";
          };
      names.add("%s%s%010d".formatted(ID, infix, names.size()));
    }
    return LockQueue.of(new Session.Children(names, 0));
  }

  @ParameterizedTest
  @CsvSource({
    "x, 1",
    "x x x, 1",
    "r, 1",
    "r r r, 3",
    "w r, 1",
    "r r w r, 2",
    "1of1 1of1, 1",
    "2of5 2of5, 2",
    "2of5 2of5 1of5, 3",
    "2of5 2of5 2of5 1of5, 2",
    "5of5 1of5, 1",
    "1of2147483647 2147483647of2147483647 1of2147483647, 1",
    // A node that disagrees with the first is being removed, and excludes all others until then.
    "r x r, 1",
    "x r x, 1",
    "1of5 1of4 1of5, 1",
    "1of1 x, 1",
  })
  void theFirstNodesWhoseWeightsFitHoldTheLock(String shares, int holders) {
    assertEquals(holders, queue(shares).holders());
  }

  @ParameterizedTest
  @CsvSource({
    "x, x, false",
    "r, r, true",
    "r, w, false",
    "r w, r, false",
    "r x, r, false",
    "2of5 2of5, 1of5, true",
    "2of5 2of5, 2of5, false",
    "1of5, 1of4, false",
    "r, 1of2147483647, false",
  })
  void aClaimIsAdmittedIfItFitsBehindAllNodes(String shares, String share, boolean admitted) {
    assertEquals(admitted, queue(shares).admits(queue(share).nodes().get(0).share()));
    assertTrue(LockQueue.EMPTY.admits(queue(share).nodes().get(0).share()));
  }

  @ParameterizedTest
  @CsvSource({
    "x x, '0 first all'",
    "x x x, '0 1 first all'",
    "x x x x x, '0 1 2 3 first all'",
    "x x x x x x x, '2'",
    "w r, '0 first all'",
    "w r r, '0 first all'",
    "r r w r r, '2 all'",
    "r w r w r r, '3'",
    "r r w, '0 1 first all'",
    "r w, '0 first all'",
    "2of5 2of5 2of5, permits",
    "5of5 1of5, permits",
    "2of5 2of5 2of5 1of5, '2 granted'",
    "2of5 2of5 5of5, '0 1 first all'",
    "x r x, '0 1 first all'",
    "r x r, '1 all'",
    "1of5 x 1of5, '1 granted'",
  })
  void theLastOfAQueueWaitsForFewNodes(String shares, String expected) {
    LockQueue queue = queue(shares);
    Blocker blocker = queue.blockerOf(queue.nodes().size() - 1);
    assertEquals(expected, described(queue, blocker));
    for (int i = 0; i < queue.holders(); i++) {
      assertNull(queue.blockerOf(i));
    }
  }

  private static String described(LockQueue queue, @Nullable Blocker blocker) {
    if (blocker == null) {
      return "nothing";
    }
    String nodes =
        blocker.nodes().stream()
            .map(node -> Integer.toString(queue.positionOf(node)))
            .collect(joining(" "));
    return (blocker.isQueue() ? "permits" : nodes)
        + (blocker.isFirst() ? " first" : "")
        + (blocker.isComplete() ? " all" : "")
        + (blocker.watchesGrants() ? " granted" : "");
  }

  @ParameterizedTest
  @CsvSource({
    "1of5 1of5, true",
    "1of5, false",
    "1of5 5of5, false",
    "5of5 1of5, false",
    "r r, false"
  })
  void aGrantIsAnnouncedToPermitsThatWaitBehindIt(String shares, boolean announced) {
    assertEquals(announced, queue(shares).isGrantAwaited(0));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "read-0000000001",
        "read--2147483648",
        "read--000000005",
        "write-0000000001",
        "1of1-0000000001",
        "2147483647of2147483647-0000000001"
      })
  void olderVersionsRefuseTheNodesOfReadersAndPermits(String end) {
    NodeName name = NodeName.parse(ID + end).orElseThrow();
    assertEquals(ID + end, name.full());
    assertEquals(name, made(name.share(), end.substring(end.indexOf('-') + 1)));
    assertFalse(OLDER.matcher(name.full()).matches());
  }

  @Test
  void theNodesOfExclusiveLocksKeepTheirNames() {
    NodeName name = NodeName.parse(ID + "0000000001").orElseThrow();
    assertTrue(OLDER.matcher(name.full()).matches());
    assertEquals(Share.EXCLUSIVE, name.share());
    assertEquals(name, made(Share.EXCLUSIVE, "0000000001"));
  }

  /** The name of the node as its own client computes it. */
  private static NodeName made(Share share, String number) {
    String id = ID.substring(0, ID.length() - 1);
    Claim claim = new Claim("job", id, Duration.ZERO, true, "x", 0, share, Duration.ZERO);
    return NodeName.of(claim, Integer.parseInt(number));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "reader-0000000001",
        "0of5-0000000001",
        "6of5-0000000001",
        "1of2147483648-0000000001",
        "01of5-0000000001",
        "1of-0000000001",
        "read-1",
        "read-read-0000000001"
      })
  void otherNamesAreForeign(String end) {
    assertEquals(Optional.empty(), NodeName.parse(ID + end));
    assertEquals(
        ID + end,
        LockQueue.of(new Session.Children(List.of(ID + end), 0)).foreign().stream()
            .collect(joining()));
  }
}
