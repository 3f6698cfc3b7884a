package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Of what a leader has heard when it commits a write. */
class PulseTest {

  private static final long BEGINNING = -7;

  private final Pulse pulse = new Pulse(Duration.ofNanos(10), new Moment(BEGINNING, 0));

  private void beat(long sentAt, long answeredAt) {
    pulse.beat(new Moment(sentAt, 0), answeredAt);
  }

  private long heardBy(long sentAt) {
    return pulse.heardBy(sentAt).nanos();
  }

  @Test
  void withoutBeatsItIsTheSessionsBeginning() {
    assertEquals(BEGINNING, heardBy(1_000));
  }

  @Test
  void oneAnswerSaysNothingOfWhatTheLeaderHeard() {
    beat(0, 5);
    assertEquals(BEGINNING, heardBy(1_000));
  }

  @Test
  void aBeatATickAfterAnAnswerShowsTheEarlierOne() {
    beat(0, 5);
    beat(15, 20);
    assertEquals(BEGINNING, heardBy(29));
    assertEquals(0, heardBy(30));
    assertEquals(0, heardBy(1_000));
  }

  @Test
  void aBeatThatFollowsTooSoonShowsNoMoreThanTheOneBefore() {
    beat(0, 5);
    beat(14, 16);
    assertEquals(BEGINNING, heardBy(1_000));
    beat(20, 22);
    beat(25, 27);
    assertEquals(0, heardBy(36));
    beat(26, 28);
    assertEquals(14, heardBy(38));
  }

  @Test
  void aWriteThatWasSentEarlierSeesOnlyWhatWasAnsweredBefore() {
    for (int sentAt = 0; sentAt <= 1_000; sentAt += 15) {
      beat(sentAt, sentAt + 5);
    }
    assertEquals(870, heardBy(910));
  }
}
