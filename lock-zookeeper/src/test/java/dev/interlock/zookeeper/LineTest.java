package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class LineTest {

  private static final String FIRST = "abcdefghijklmnopqrstuvwxyz0-";
  private static final String SECOND = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

  @Test
  void theOrderIsThatOfTheNumbersWhateverTheNamesBeginWith() {
    Line line = Line.of(List.of(FIRST + "0000000010", SECOND + "0000000009"));
    assertEquals(1, line.placeOf(FIRST + "0000000010"));
    assertEquals(0, line.placeOf(SECOND + "0000000009"));
    assertEquals(-1, line.placeOf(SECOND + "0000000010"));
  }

  @Test
  void aStrangersNodeIsNotInLine() {
    Line line =
        Line.of(
            List.of(
                "_c_0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f-lock-0000000000",
                "config",
                FIRST + "0000000001"));
    assertEquals(2, line.foreign().size());
    assertEquals(0, line.placeOf(FIRST + "0000000001"));
  }

  @Test
  void theNodesOfOneAttemptAreFound() {
    Line line = Line.of(List.of(FIRST + "0000000001", SECOND + "0000000002"));
    List<LineNode> own = line.of(SECOND.substring(0, 27));
    assertEquals(List.of(SECOND + "0000000002"), own.stream().map(LineNode::name).toList());
  }

  @Test
  void numbersThatHaveRunOutAreNotUsed() {
    for (String number : List.of("-2147483648", "-000000001", "2147483647", "2146435072")) {
      LineNode node = LineNode.parse(FIRST + number).orElseThrow();
      assertTrue(node.isBeyondLast(), number);
      assertTrue(node.isWorn(), number);
    }
    LineNode last = LineNode.parse(FIRST + "2146435071").orElseThrow();
    assertFalse(last.isBeyondLast());
    assertTrue(last.isWorn());
    assertFalse(LineNode.parse(FIRST + "1000000000").orElseThrow().isWorn());
  }
}
