package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.redis.server.Failures;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;

/** Servers of several vendors are identified by INFO. */
class NodeConnectionsTest {

  private static final String REDIS = "redis_version:7.0.15\r\nredis_mode:";
  private static final String VALKEY =
      "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\nserver_mode:";

  @ParameterizedTest
  @ValueSource(strings = {REDIS, VALKEY})
  void aServerOfItsOwnMayBeANode(String server) {
    assertEquals("736f3853ac38", introduce(server + "standalone"));
  }

  @ParameterizedTest
  @ValueSource(strings = {REDIS, VALKEY})
  void aMemberOfAClusterMayNot(String server) {
    String message =
        assertThrows(LockConfigurationException.class, () -> introduce(server + "cluster"))
            .getMessage();
    assertTrue(message.contains("runs in mode cluster"), message);
  }

  @Test
  void aServerThatLoadsItsDataIsNotConnectedToYet() {
    String message =
        assertThrows(
                JedisDataException.class, () -> introduce(REDIS + "standalone", "loading:1\r\n"))
            .getMessage();
    assertTrue(message.startsWith("LOADING"), message);
  }

  private static String introduce(String server) {
    return introduce(server, "loading:0\r\n");
  }

  private static String introduce(String server, String persistence) {
    Connection connection =
        new Answering(server + "\r\nrun_id:736f3853ac38\r\nuptime_in_seconds:1", persistence);
    return new NodeConnections(
            "a",
            () -> connection,
            new Failures("redlock", "a", false),
            new HashMap<>(),
            Duration.ofMillis(100),
            () -> {})
        .connect()
        .process();
  }

  /** Answers INFO without a server. */
  private static final class Answering extends Connection {
    private final List<Object> answers;

    Answering(String server, String persistence) {
      answers =
          Stream.of(server, "role:master\r\n", persistence)
              .<Object>map(answer -> answer.getBytes(UTF_8))
              .toList();
    }

    @Override
    public int getSoTimeout() {
      return 100;
    }

    @Override
    public void setSoTimeout(int timeout) {}

    @Override
    public void sendCommand(ProtocolCommand command, String... arguments) {}

    @Override
    public List<Object> getMany(int count) {
      return answers.subList(0, count);
    }
  }
}
