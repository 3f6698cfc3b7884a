package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Of what a leader has heard when it commits a write. */
class PulseTest {

  private static final long BEGINNING = -7;

  private final Pulse pulse = new Pulse(Duration.ofNanos(10), BEGINNING);

  @Test
  void withoutBeatsItIsTheSessionsBeginning() {
    assertEquals(BEGINNING, pulse.heardBy(1_000));
  }

  @Test
  void oneAnswerSaysNothingOfWhatTheLeaderHeard() {
    pulse.beat(0, 5);
    assertEquals(BEGINNING, pulse.heardBy(1_000));
  }

  @Test
  void aBeatATickAfterAnAnswerShowsTheEarlierOne() {
    pulse.beat(0, 5);
    pulse.beat(15, 20);
    assertEquals(BEGINNING, pulse.heardBy(29));
    assertEquals(0, pulse.heardBy(30));
    assertEquals(0, pulse.heardBy(1_000));
  }

  @Test
  void aBeatThatFollowsTooSoonShowsNoMoreThanTheOneBefore() {
    pulse.beat(0, 5);
    pulse.beat(14, 16);
    assertEquals(BEGINNING, pulse.heardBy(1_000));
    pulse.beat(20, 22);
    pulse.beat(25, 27);
    assertEquals(0, pulse.heardBy(36));
    pulse.beat(26, 28);
    assertEquals(14, pulse.heardBy(38));
  }

  @Test
  void aWriteThatWasSentEarlierSeesOnlyWhatWasAnsweredBefore() {
    for (int sentAt = 0; sentAt <= 1_000; sentAt += 15) {
      pulse.beat(sentAt, sentAt + 5);
    }
    assertEquals(870, pulse.heardBy(910));
  }
}
