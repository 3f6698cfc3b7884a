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
    connection.onRequestTimeout(askedAt);
  }

  @Test
  void aConnectionThatDoesNotAnswerIsReplaced() {
    connection.onConnected();
    askInVain(2_000);
    assertEquals(1, replaced);
  }

  @Test
  void oneThatCameOnlyWhileTheRequestWaitedIsNot() {
    connection.onConnected();
    connection.onDisconnected();
    long askedAt = now;
    pass(1_900);
    connection.onConnected();
    pass(100);
    connection.onRequestTimeout(askedAt);
    assertEquals(0, replaced);
  }

  @Test
  void whereThereIsNoneNothingIsReplaced() {
    connection.onConnected();
    connection.onDisconnected();
    askInVain(2_000);
    assertEquals(0, replaced);
  }

  @Test
  void oneThatHasAnsweredSomethingElseMeanwhileIsNot() {
    connection.onConnected();
    long askedAt = now;
    pass(1_000);
    connection.onRequestEnd();
    pass(1_000);
    connection.onRequestTimeout(askedAt);
    assertEquals(0, replaced);
  }

  @Test
  void oneThatFellSilentAfterAnAnswerIsReplacedAllTheSame() {
    connection.onConnected();
    long askedAt = now;
    pass(100);
    connection.onRequestEnd();
    pass(1_900);
    connection.onRequestTimeout(askedAt);
    assertEquals(1, replaced);
  }

  @Test
  void aLongSessionHasTimeForASlowServer() {
    session = Duration.ofSeconds(60);
    connection.onConnected();
    askInVain(2_000);
    askInVain(2_000);
    assertEquals(0, replaced);
    connection.onRequestEnd();
    askInVain(2_000);
    askInVain(2_000);
    askInVain(1_999);
    assertEquals(0, replaced);
    askInVain(1);
    assertEquals(1, replaced);
  }

  @Test
  void oneThatReplacedAnotherAndAnsweredIsReplacedToo() {
    connection.onConnected();
    askInVain(2_000);
    pass(100);
    connection.onReply();
    askInVain(2_000);
    assertEquals(2, replaced);
  }

  /** What breaks with the replaced connection is no answer. */
  @Test
  void oneInHalfASessionIsEnough() {
    connection.onConnected();
    askInVain(2_000);
    connection.onRequestEnd();
    askInVain(2_000);
    assertEquals(1, replaced);
    askInVain(3_000);
    assertEquals(2, replaced);
  }
}
