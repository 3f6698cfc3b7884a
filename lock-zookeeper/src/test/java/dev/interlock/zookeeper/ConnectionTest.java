package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests which connections count as silent and are replaced. */
class ConnectionTest {

  private static final Duration SILENCE_TIMEOUT = Duration.ofMillis(1_500);

  private long now = 17;
  private int replaced;
  private Duration session = Duration.ofSeconds(10);

  private final Connection connection =
      new Connection(new Clock(), SILENCE_TIMEOUT, () -> session, () -> replaced++);

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

  private void leaveUnanswered(long millis) {
    long askedAt = now;
    pass(millis);
    connection.onRequestTimeout(askedAt);
  }

  @Test
  void aConnectionThatDoesNotAnswerIsReplaced() {
    connection.onConnected();
    leaveUnanswered(2_000);
    assertEquals(1, replaced);
  }

  @Test
  void aConnectionYoungerThanTheRequestIsNotReplaced() {
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
  void nothingIsReplacedWithoutAConnection() {
    connection.onConnected();
    connection.onDisconnected();
    leaveUnanswered(2_000);
    assertEquals(0, replaced);
  }

  @Test
  void aConnectionThatAnsweredAnotherRequestIsNotReplaced() {
    connection.onConnected();
    long askedAt = now;
    pass(1_000);
    connection.onRequestEnd();
    pass(1_000);
    connection.onRequestTimeout(askedAt);
    assertEquals(0, replaced);
  }

  @Test
  void aConnectionThatFallsSilentAfterAnAnswerIsReplaced() {
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
    leaveUnanswered(2_000);
    leaveUnanswered(2_000);
    assertEquals(0, replaced);
    connection.onRequestEnd();
    leaveUnanswered(2_000);
    leaveUnanswered(2_000);
    leaveUnanswered(1_999);
    assertEquals(0, replaced);
    leaveUnanswered(1);
    assertEquals(1, replaced);
  }

  @Test
  void anAnsweringReplacementIsReplacedWhenItFallsSilent() {
    connection.onConnected();
    leaveUnanswered(2_000);
    pass(100);
    connection.onReply();
    leaveUnanswered(2_000);
    assertEquals(2, replaced);
  }

  /** A request that fails with the replaced connection does not count as an answer. */
  @Test
  void atMostOneConnectionIsReplacedInHalfASession() {
    connection.onConnected();
    leaveUnanswered(2_000);
    connection.onRequestEnd();
    leaveUnanswered(2_000);
    assertEquals(1, replaced);
    leaveUnanswered(3_000);
    assertEquals(2, replaced);
  }
}
