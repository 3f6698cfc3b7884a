package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.compare.Holds.Hold;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests how handoffs, waits and fairness are computed from holds. */
class HoldsTest {

  @Test
  void equalNumbersOfHoldsArePerfectlyFair() {
    assertEquals(1, Holds.jain(new long[] {7, 7, 7}), 1e-9);
  }

  @Test
  void allHoldsByOneThreadAreMaximallyUnfair() {
    assertEquals(0.25, Holds.jain(new long[] {9, 0, 0, 0}), 1e-9);
  }

  @Test
  void withoutHoldsThereIsNoFairness() {
    assertTrue(Double.isNaN(Holds.jain(new long[] {0, 0})));
  }

  @Test
  void onlyHoldsWithinTheContentionCount() {
    Holds holds =
        new Holds(
            List.of(
                new Hold(0, 100, 101, 110),
                new Hold(1, 100, 115, 120),
                new Hold(0, 110, 126, 130),
                new Hold(1, 120, 205, 210)), // still waiting when the contention ended
            100,
            200,
            true);
    assertEquals(3, holds.count());
    assertEquals(3 * 1e9 / 100, holds.perSecond(), 1e-6);
    assertEquals(2, holds.handoffs().getTotalCount());
    assertEquals(5, holds.handoffs().getMinValue());
    assertEquals(6, holds.handoffs().getMaxValue());
    assertEquals(85, holds.waits().getMaxValue());
    assertEquals(9.0 / 10, holds.fairness(2), 1e-9);
  }

  @Test
  void waitersOfSeveralProcessesAreDistinguished() {
    Holds one = new Holds(List.of(new Hold(0, 0, 10, 11), new Hold(0, 11, 30, 31)), 0, 100, true);
    Holds other = new Holds(List.of(new Hold(0, 0, 20, 21), new Hold(0, 21, 95, 96)), 5, 90, true);
    Holds both = Holds.together(List.of(one, other));
    assertEquals(3, both.count()); // within the time of both processes
    assertEquals(9, both.handoffs().getMinValue());
    assertEquals(9.0 / 10, both.fairness(2), 1e-9);
  }

  @Test
  void aWaitThatTimedOutLeavesTheWaitsUnknown() {
    Holds holds = new Holds(List.of(new Hold(0, 0, 10, 11)), 0, 100, false);
    assertEquals(1, holds.count());
    assertEquals(0, holds.waits().getTotalCount());
  }

  @Test
  void everyWaiterIsServedAndTheHoldsCanBeEncoded() throws Exception {
    try (LockClient client = LockClient.open("memory:holds")) {
      Holds holds =
          Holds.contend(
              (waiter, atMost) -> client.lock("hot").tryAcquire(Duration.ofSeconds(30)),
              3,
              Duration.ofMillis(50),
              Duration.ZERO);
      assertTrue(holds.allServed());
      String line = holds.encode();
      assertEquals(1, line.lines().count());
      assertEquals(holds, Holds.decode(line));
    }
  }
}
