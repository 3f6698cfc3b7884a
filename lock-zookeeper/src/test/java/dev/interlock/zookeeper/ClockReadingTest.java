package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Clock readings on a machine that is suspended. */
class ClockReadingTest {

  private static final long MILLI = Duration.ofMillis(1).toNanos();

  private long monotonic = 77;
  private long wall = 1_000;

  private final TimeSource clocks =
      new TimeSource() {
        @Override
        public long nanoTime() {
          return monotonic;
        }

        @Override
        public long wallMillis() {
          return wall;
        }

        @Override
        public void parkUntil(Object blocker, long nanos) {
          throw new AssertionError("no test waits");
        }
      };

  private void pass(long millis) {
    monotonic += millis * MILLI;
    wall += millis;
  }

  @Test
  void aReadingStaysTheSameWhileBothClocksRun() {
    ClockReading reading = ClockReading.now(clocks);
    pass(10_000);
    assertEquals(77, reading.seenFromNow(clocks));
  }

  @Test
  void aSuspensionMakesAnEarlierReadingOlder() {
    ClockReading reading = ClockReading.now(clocks);
    pass(10);
    wall += 5_000;
    pass(10);
    assertEquals(77 - 4_999 * MILLI, reading.seenFromNow(clocks));
    assertEquals(monotonic, ClockReading.now(clocks).seenFromNow(clocks));
  }

  @Test
  void aWallClockThatIsSetBackDoesNotMakeAReadingYounger() {
    ClockReading reading = ClockReading.now(clocks);
    wall -= 60_000;
    assertEquals(77, reading.seenFromNow(clocks));
  }
}
