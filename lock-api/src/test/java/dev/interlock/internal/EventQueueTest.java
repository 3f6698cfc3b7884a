package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class EventQueueTest {

  private static final class Numbered extends Timer.Event {
    private final long due;

    Numbered(long due) {
      this.due = due;
    }

    @Override
    void fire(long now) {}
  }

  private final EventQueue queue = new EventQueue();

  /** Compares the queue with a list, across the overflow of the clock. */
  @Test
  void eventsComeByTime() {
    Random random = new Random(21);
    List<Numbered> expected = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      int dice = random.nextInt(i % 2_000 < 1_000 ? 3 : 2);
      if (dice == 0 && !expected.isEmpty()) {
        Timer.Event first = queue.first();
        assertTrue(expected.remove(first));
        assertTrue(expected.stream().noneMatch(other -> other.isBefore(first)));
        queue.remove(first);
      } else if (dice == 1 && !expected.isEmpty()) {
        Numbered any = expected.remove(random.nextInt(expected.size()));
        queue.remove(any);
        queue.remove(any);
      } else {
        Numbered event = new Numbered(Long.MAX_VALUE - 50 + random.nextInt(100));
        queue.add(event, event.due);
        expected.add(event);
      }
      assertEquals(expected.size(), queue.size());
    }
    queue.clear();
    assertNull(queue.first());
  }
}
