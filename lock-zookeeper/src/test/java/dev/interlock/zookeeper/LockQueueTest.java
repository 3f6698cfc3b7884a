package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class LockQueueTest {

  private static final String FIRST = "abcdefghijklmnopqrstuvwxyz0-";
  private static final String SECOND = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

  private static LockQueue queue(String... names) {
    return LockQueue.of(new Session.Children(List.of(names), 0));
  }

  private static int position(LockQueue queue, String name) {
    return queue.positionOf(NodeName.parse(name).orElseThrow());
  }

  @Test
  void nodesAreOrderedByTheirNumbers() {
    LockQueue queue = queue(FIRST + "0000000010", SECOND + "0000000009");
    assertEquals(1, position(queue, FIRST + "0000000010"));
    assertEquals(0, position(queue, SECOND + "0000000009"));
    assertEquals(-1, position(queue, SECOND + "0000000010"));
  }

  @Test
  void aForeignNodeIsNotInTheQueue() {
    LockQueue queue =
        queue(
            "_c_0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f-lock-0000000000",
            "config",
            FIRST + "0000000001");
    assertEquals(2, queue.foreign().size());
    assertEquals(0, position(queue, FIRST + "0000000001"));
  }

  @Test
  void theNodesOfOneClaimAreFound() {
    LockQueue queue = queue(FIRST + "0000000001", SECOND + "0000000002");
    List<NodeName> own = queue.of(SECOND.substring(0, 27));
    assertEquals(List.of(SECOND + "0000000002"), own.stream().map(NodeName::full).toList());
  }

  @Test
  void numbersBeyondTheMaximumAreNotUsed() {
    for (String number : List.of("-2147483648", "-000000001", "2147483647", "2146435072")) {
      NodeName node = NodeName.parse(FIRST + number).orElseThrow();
      assertTrue(node.isBeyondMaxNumber(), number);
      assertTrue(node.isHalfUsedUp(), number);
    }
    NodeName last = NodeName.parse(FIRST + "2146435071").orElseThrow();
    assertFalse(last.isBeyondMaxNumber());
    assertTrue(last.isHalfUsedUp());
    assertFalse(NodeName.parse(FIRST + "1000000000").orElseThrow().isHalfUsedUp());
  }
}
