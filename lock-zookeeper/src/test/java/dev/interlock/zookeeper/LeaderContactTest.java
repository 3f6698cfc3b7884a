package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What a committed write proves about the leader's contact with the client. */
class LeaderContactTest {

  private static final long BEGINNING = -7;

  private final LeaderContact contact =
      new LeaderContact(() -> Duration.ofNanos(10), new ClockReading(BEGINNING, 0));

  private void heartbeat(long sentAt, long answeredAt) {
    contact.answered(new ClockReading(sentAt, 0), answeredAt);
  }

  private long proven(long sentAt) {
    return contact.provenByWrite(sentAt).nanos();
  }

  @Test
  void withoutHeartbeatsItIsTheSessionsBeginning() {
    assertEquals(BEGINNING, proven(1_000));
  }

  @Test
  void oneAnswerSaysNothingOfWhatTheLeaderHeard() {
    heartbeat(0, 5);
    assertEquals(BEGINNING, proven(1_000));
  }

  @Test
  void aHeartbeatATickAfterAnAnswerShowsTheEarlierOne() {
    heartbeat(0, 5);
    heartbeat(15, 20);
    assertEquals(BEGINNING, proven(29));
    assertEquals(0, proven(30));
    assertEquals(0, proven(1_000));
  }

  @Test
  void aHeartbeatThatFollowsTooSoonShowsNoMoreThanTheEarlierOne() {
    heartbeat(0, 5);
    heartbeat(14, 16);
    assertEquals(BEGINNING, proven(1_000));
    heartbeat(20, 22);
    heartbeat(25, 27);
    assertEquals(0, proven(36));
    heartbeat(26, 28);
    assertEquals(14, proven(38));
  }

  @Test
  void aWriteThatWasSentEarlierSeesOnlyWhatWasAnsweredBefore() {
    for (int sentAt = 0; sentAt <= 1_000; sentAt += 15) {
      heartbeat(sentAt, sentAt + 5);
    }
    assertEquals(870, proven(910));
  }
}
