package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Which connections count as dead. */
class ConnectionTest {

  private static final Duration PATIENCE = Duration.ofMillis(1_500);

  private long now = 17;
  private int replaced;
  private Duration session = Duration.ofSeconds(10);

  private final Connection connection =
      new Connection(new Clock(), PATIENCE, () -> session, () -> replaced++);

  private final class Clock implements TimeSource {
    @Override
    public long nanoTime() {
      return now;
    }

    @Override
    public long wallMillis() {
      return 0;
    }

    @Override
    public void parkUntil(Object blocker, long nanos) {
      throw new AssertionError("no thread waits here");
    }
  }

  private void pass(long millis) {
    now += Duration.ofMillis(millis).toNanos();
  }

  private void askInVain(long millis) {
    long askedAt = now;
    pass(millis);
    connection.unansweredSince(askedAt);
  }

  @Test
  void aConnectionThatDoesNotAnswerIsReplaced() {
    connection.up();
    askInVain(2_000);
    assertEquals(1, replaced);
  }

  @Test
  void oneThatCameOnlyWhileTheRequestWaitedIsNot() {
    connection.up();
    connection.down();
    long askedAt = now;
    pass(1_900);
    connection.up();
    pass(100);
    connection.unansweredSince(askedAt);
    assertEquals(0, replaced);
  }

  @Test
  void whereThereIsNoneNothingIsReplaced() {
    connection.up();
    connection.down();
    askInVain(2_000);
    assertEquals(0, replaced);
  }

  @Test
  void oneThatHasAnsweredSomethingElseMeanwhileIsNot() {
    connection.up();
    long askedAt = now;
    pass(1_000);
    connection.heard();
    pass(1_000);
    connection.unansweredSince(askedAt);
    assertEquals(0, replaced);
  }

  @Test
  void oneThatFellSilentAfterAnAnswerIsReplacedAllTheSame() {
    connection.up();
    long askedAt = now;
    pass(100);
    connection.heard();
    pass(1_900);
    connection.unansweredSince(askedAt);
    assertEquals(1, replaced);
  }

  @Test
  void aLongSessionHasTimeForASlowServer() {
    session = Duration.ofSeconds(60);
    connection.up();
    askInVain(2_000);
    askInVain(2_000);
    assertEquals(0, replaced);
    connection.heard();
    askInVain(2_000);
    askInVain(2_000);
    askInVain(1_999);
    assertEquals(0, replaced);
    askInVain(1);
    assertEquals(1, replaced);
  }

  @Test
  void oneThatReplacedAnotherAndAnsweredIsReplacedToo() {
    connection.up();
    askInVain(2_000);
    pass(100);
    connection.answered();
    askInVain(2_000);
    assertEquals(2, replaced);
  }

  /** What breaks with the replaced connection is no answer. */
  @Test
  void oneInHalfASessionIsEnough() {
    connection.up();
    askInVain(2_000);
    connection.heard();
    askInVain(2_000);
    assertEquals(1, replaced);
    askInVain(3_000);
    assertEquals(2, replaced);
  }
}
