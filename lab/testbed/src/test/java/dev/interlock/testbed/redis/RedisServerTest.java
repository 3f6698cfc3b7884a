package dev.interlock.testbed.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.time.Duration;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Test;

class RedisServerTest {
  private static final Duration SHORT_TIMEOUT = Duration.ofMillis(200);

  private static RedisServer start() {
    return Testbed.redis().using(ServerSource.BINARY).start();
  }

  @Test
  void answersItsClientsAsSoonAsItIsStarted() throws IOException {
    try (RedisServer redis = start()) {
      assertEquals("PONG", redis.call("PING"));
      assertEquals("redis://127.0.0.1:" + redis.port(), redis.uri());
      assertTrue(redis.version().matches("\\d+\\.\\d+\\.\\d+"), redis.version());
      assertTrue(redis.source().startsWith("binary "), redis.source());
    }
  }

  @Test
  void aPausedServerIsSilentAndAResumedOneAnswersWithItsData() throws IOException {
    try (RedisServer redis = start()) {
      redis.call("SET", "key", "value");
      redis.pause();
      RedisEndpoint endpoint = endpoint(redis.uri());
      assertThrows(SocketTimeoutException.class, () -> endpoint.ready(SHORT_TIMEOUT));
      assertFalse(redis.answers(SHORT_TIMEOUT));
      redis.resume();
      assertEquals("value", redis.call("GET", "key"));
    }
  }

  @Test
  void aKilledServerRefusesConnectionsAndComesBackWithItsDataOnTheSamePort() throws IOException {
    try (RedisServer redis = start()) {
      redis.call("SET", "key", "value");
      Object firstRun = RedisEndpoint.field(redis.call("INFO", "server"), "run_id");
      redis.kill();
      assertThrows(ConnectException.class, () -> redis.call("PING"));
      redis.restart();
      assertEquals("value", redis.call("GET", "key"));
      assertFalse(RedisEndpoint.field(redis.call("INFO", "server"), "run_id").equals(firstRun));
    }
  }

  @Test
  void aServerThatIsRestartedEmptyHasForgottenItsData() throws IOException {
    try (RedisServer redis = start()) {
      redis.call("SET", "key", "value");
      redis.restartEmpty();
      assertNull(redis.call("GET", "key"));
    }
  }

  @Test
  void aPausedServerCanBeKilledAndHealed() throws IOException {
    try (RedisServer redis = start()) {
      redis.pause();
      redis.kill();
      redis.heal();
      assertEquals("PONG", redis.call("PING"));
    }
  }

  @Test
  void thePasswordIsAskedForAndToldOnlyByTheUri() throws IOException {
    try (RedisServer redis =
        Testbed.redis().using(ServerSource.BINARY).password("sec\"ret/@ \\").start()) {
      assertEquals("PONG", redis.call("PING"));
      assertEquals("sec\"ret/@ \\", endpoint(redis.uri()).password());
      assertFalse(redis.toString().contains("ret"), redis.toString());
      RedisEndpoint stranger = new RedisEndpoint(redis.host(), redis.port(), null, null, null);
      RedisReplyException refused =
          assertThrows(RedisReplyException.class, () -> stranger.call("GET", "key"));
      assertTrue(refused.getMessage().startsWith("NOAUTH"), refused.getMessage());
    }
  }

  @Test
  void aServerThatCannotStartTellsWhatItWrote() {
    NoServerException e =
        assertThrows(
            NoServerException.class,
            () ->
                Testbed.redis().using(ServerSource.BINARY).config("no-such-directive yes").start());
    assertTrue(e.getMessage().contains("no-such-directive"), e.getMessage());
  }

  @Test
  void theEmbeddedProgramCanBeHurtAsAnyOther() throws IOException {
    try (RedisServer redis = Testbed.redis().using(ServerSource.EMBEDDED).start();
        RedisServer second = Testbed.redis().using(ServerSource.EMBEDDED).start()) {
      assertTrue(redis.source().startsWith("embedded"), redis.source());
      redis.call("SET", "key", "value");
      redis.pause();
      assertFalse(redis.answers(SHORT_TIMEOUT));
      assertTrue(second.answers(Duration.ofSeconds(5)));
      redis.kill();
      redis.restart();
      assertEquals("value", redis.call("GET", "key"));
    }
  }

  @Test
  void aServerWithTlsSpeaksNothingElse() throws IOException {
    try (RedisServer redis =
        Testbed.redis().using(ServerSource.BINARY).tls().password("secret").start()) {
      assertTrue(redis.uri().startsWith("rediss://:secret@127.0.0.1:"), redis.toString());
      assertTrue(Files.exists(redis.caCertificate().orElseThrow()));
      assertEquals("PONG", endpoint(redis.uri()).call("PING"));
      RedisEndpoint plain = new RedisEndpoint(redis.host(), redis.port(), null, null, null);
      assertThrows(IOException.class, () -> plain.call("PING"));
      RedisEndpoint distrustful = endpoint(redis.uri().replaceFirst("\\?.*", ""));
      assertThrows(SSLException.class, () -> distrustful.call("PING"));
      redis.pause();
      assertFalse(redis.answers(SHORT_TIMEOUT));
      redis.kill();
      redis.restart();
      assertEquals("PONG", redis.call("PING"));
    }
  }

  @Test
  void aDemotedServerKeepsItsDataAndRefusesToWrite() throws Exception {
    try (RedisServer redis = Testbed.redis().forFaults().start()) {
      redis.call("SET", "key", "value");
      redis.demote();
      assertEquals("value", redis.call("GET", "key"));
      RedisReplyException refused =
          assertThrows(RedisReplyException.class, () -> redis.call("SET", "key", "other"));
      assertTrue(String.valueOf(refused.getMessage()).contains("READONLY"), refused::toString);
      redis.promote();
      assertEquals("value", redis.call("GET", "key"));
      assertEquals("OK", redis.call("SET", "key", "other"));
    }
  }

  private static RedisEndpoint endpoint(String uri) {
    return RedisEndpoint.of(EndpointUri.parse(uri, "redis", RedisEndpoint.PORT));
  }
}
