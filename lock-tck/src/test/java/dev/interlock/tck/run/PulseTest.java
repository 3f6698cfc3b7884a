package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PulseTest {
  private static final long WORK = Duration.ofMillis(4).toNanos();
  private static final long PERIOD = Duration.ofMillis(100).toNanos();

  private final Pulse pulse = new Pulse(0);
  private long now;

  /** Adds beats whose work took some times longer than its processor time. */
  private void beats(int count, double slowdown) {
    for (int i = 0; i < count; i++) {
      long elapsed = (long) (WORK * slowdown);
      now += PERIOD + elapsed;
      pulse.add(now, elapsed, WORK);
    }
  }

  private Duration machineTime() {
    return Duration.ofNanos(pulse.nanoTime(now));
  }

  private Optional<String> standstillSince(long start) {
    return pulse.standstillBetween(start, now);
  }

  @Test
  void onAFastMachineTheClockRunsAsUsual() {
    beats(100, 1);
    assertEquals(1, pulse.slowdown());
    assertEquals(now, pulse.nanoTime(now));
    assertEquals(Optional.empty(), pulse.slownessSince(0));
    assertEquals(Optional.empty(), standstillSince(0));
  }

  @Test
  void onASlowMachineTheClockRunsSlowly() {
    beats(1_000, 5);
    assertEquals(5, pulse.slowdown(), 0.01);
    Duration before = machineTime();
    beats(100, 5);
    double expected = 100 * (PERIOD + 5 * WORK) / 1.5;
    assertEquals(expected, (double) machineTime().minus(before).toNanos(), expected / 50);
    assertEquals(
        Optional.of("this machine ran 5 times slower than idle"), pulse.slownessSince(now - 1));
  }

  @Test
  void whileTheMachineStandsStillTheClockStops() {
    beats(100, 1);
    long before = pulse.nanoTime(now);
    now += Duration.ofHours(1).toNanos();
    assertEquals(2 * PERIOD, pulse.nanoTime(now) - before);
    assertEquals(Optional.of("this machine stood still for 3599.8 s"), standstillSince(now - 1));
  }

  @Test
  void withoutAPulseTheClockRunsAsUsual() {
    long end = Duration.ofMinutes(1).toNanos();
    assertEquals(end, new Pulse(0).nanoTime(end));
    beats(1_000, 5);
    pulse.stop(now);
    long before = pulse.nanoTime(now);
    assertEquals(end, pulse.nanoTime(now + end) - before);
  }

  @Test
  void aStandstillIsRememberedFromItsBeginning() {
    long start = now;
    beats(10, 1);
    beats(1, 450); // 1.8 s
    long end = now;
    assertEquals(Optional.of("this machine stood still for 1.8 s"), standstillSince(start));
    beats(100, 1);
    assertEquals(Optional.of("this machine stood still for 1.8 s"), standstillSince(start));
    assertEquals(Optional.empty(), standstillSince(end + Duration.ofSeconds(5).toNanos()));
  }
}
