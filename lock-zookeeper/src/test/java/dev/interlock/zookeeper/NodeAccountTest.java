package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class NodeAccountTest {

  private static final int LIMIT = 1_000;

  @Test
  void thereIsRoomUpToTheLimitAndNoFurther() {
    NodeAccount account = new NodeAccount(LIMIT);
    assertTrue(account.reserve(LIMIT - 1));
    assertFalse(account.reserve(2));
    assertTrue(account.reserve(1));
    assertFalse(account.reserve(1));
    account.free(LIMIT - 1);
    assertFalse(account.reserve(LIMIT));
    assertTrue(account.reserve(LIMIT - 1));
  }

  /** A refused node would never find a session with room for it. */
  @Test
  void aSingleNodeHasRoomHoweverLargeItIs() {
    NodeAccount account = new NodeAccount(LIMIT);
    assertTrue(account.reserve(2 * LIMIT));
    assertFalse(account.reserve(1));
  }

  /** In random sequences a node is refused exactly if its bytes would exceed the limit. */
  @Test
  void theAccountCountsNodesThatAreReservedAndNotFreed() {
    NodeAccount account = new NodeAccount(LIMIT);
    Deque<Integer> nodes = new ArrayDeque<>();
    Random random = new Random(1);
    for (int i = 0; i < 100_000; i++) {
      int total = nodes.stream().mapToInt(Integer::intValue).sum();
      if (random.nextInt(5) < 2 && !nodes.isEmpty()) {
        account.free(nodes.remove());
      } else {
        int bytes = 1 + random.nextInt(LIMIT / 4);
        assertEquals(total + bytes <= LIMIT, account.reserve(bytes));
        if (total + bytes <= LIMIT) {
          nodes.add(bytes);
        }
      }
    }
  }

  @Test
  void concurrentThreadsGetNoMoreThanTheLimit() throws Exception {
    NodeAccount account = new NodeAccount(LIMIT);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Callable<Integer> greedy =
          () -> (int) Stream.generate(() -> account.reserve(1)).takeWhile(got -> got).count();
      int reserved = 0;
      for (Future<Integer> each : threads.invokeAll(List.of(greedy, greedy, greedy, greedy))) {
        reserved += each.get();
      }
      assertEquals(LIMIT, reserved);
    } finally {
      threads.shutdownNow();
    }
  }
}
