package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ClaimIdsTest {

  private static final int BEFORE = 5;

  /** A machine whose random source and clocks differ once it is a clone. */
  private static final class Machine implements Platform {
    private long nanos = Long.MAX_VALUE - Duration.ofMillis(100).toNanos();
    private long millis = 1_800_000_000_000L;
    private int randomness;
    private int draws;

    String next(ClaimIds ids) {
      ClaimIds.Series series = ids.series(millis, nanos);
      return Claim.inSeries(
              "a",
              series.name,
              series.next(),
              Duration.ofSeconds(1),
              true,
              "test",
              nanos,
              Share.EXCLUSIVE,
              Duration.ZERO)
          .id();
    }

    void becomeClone(int number) {
      randomness = number;
    }

    @Override
    public long nanoTime() {
      return nanos;
    }

    @Override
    public long wallMillis() {
      return millis;
    }

    @Override
    public byte[] unique(int count) {
      byte[] bytes = new byte[count];
      Arrays.fill(bytes, (byte) (16 * ++draws + randomness));
      return bytes;
    }

    @Override
    public void parkUntil(Object blocker, long untilNanos) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unpark(@Nullable Thread thread) {
      throw new UnsupportedOperationException();
    }

    @Override
    public ExecutorService pool(String name, int maxThreads, boolean virtual) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Thread thread(String name, Runnable task) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long random(long bound) {
      throw new UnsupportedOperationException();
    }
  }

  private static ClaimIds snapshot(Machine machine) {
    ClaimIds ids = new ClaimIds(machine);
    for (int i = 0; i < BEFORE; i++) {
      machine.next(ids);
    }
    return ids;
  }

  private final Machine first = new Machine();
  private final Machine second = new Machine();
  private final ClaimIds ofFirst = snapshot(first);
  private final ClaimIds ofSecond = snapshot(second);

  private void resume() {
    first.becomeClone(1);
    second.becomeClone(2);
  }

  @Test
  void anIdIs27CharactersThatAnyStoreTakes() {
    String id = first.next(ofFirst);
    assertTrue(id.matches("[A-Za-z0-9_-]{27}"), id);
  }

  @Test
  void noIdComesTwiceWhileTheClocksStandStill() {
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < 100_000; i++) {
      assertTrue(ids.add(first.next(ofFirst)));
    }
  }

  @Test
  void clonesPartWaysOnceTheirWallClocksHaveJumped() {
    resume();
    first.millis += 5_000;
    second.millis += 5_000;
    assertNotEquals(first.next(ofFirst), second.next(ofSecond));
  }

  @Test
  void clonesPartWaysOnAMachineWhoseMonotonicClockIsBehind() {
    resume();
    first.nanos -= 1;
    second.nanos -= 1;
    assertNotEquals(first.next(ofFirst), second.next(ofSecond));
  }

  @Test
  void clonesPartWaysASecondAfterTheLastDraw() {
    resume();
    first.nanos += 1_000_000_000;
    second.nanos += 1_000_000_000;
    assertNotEquals(first.next(ofFirst), second.next(ofSecond));
  }

  @Test
  void clonesThatResumeAtOncePartWaysByTheTimesOfTheirAttempts() {
    resume();
    first.nanos += 1_000;
    second.nanos += 1_001;
    assertNotEquals(first.next(ofFirst), second.next(ofSecond));
  }

  @Test
  void bytesAreDrawnOnceInASecond() {
    int draws = first.draws;
    for (int i = 0; i < 100; i++) {
      first.nanos += 10_000_000;
      first.millis += 10;
      first.next(ofFirst);
    }
    assertEquals(draws + 1, first.draws);
  }
}
