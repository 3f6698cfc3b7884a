package dev.interlock.testbed.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RedlockNodesTest {
  @Test
  void theNodesAreFiveAndIndependent() throws IOException {
    try (RedlockNodes nodes = Testbed.redlockNodes().using(ServerSource.BINARY).start()) {
      assertEquals(5, nodes.members().size());
      assertEquals(
          nodes.members().stream()
              .map(node -> "127.0.0.1:" + node.port())
              .collect(Collectors.joining(",", "redlock://", "")),
          nodes.uri());
      nodes.members().get(0).call("SET", "key", "value");
      for (RedisServer other : nodes.members().subList(1, 5)) {
        assertNull(other.call("GET", "key"));
        assertEquals("master", other.info("replication", "role"));
        assertEquals("0", other.info("replication", "connected_slaves"));
      }
    }
  }

  @Test
  void healingBringsBackWhatWasKilledAndPaused() throws IOException {
    try (RedlockNodes nodes = Testbed.redlockNodes().using(ServerSource.BINARY).nodes(3).start()) {
      nodes.members().get(0).kill();
      nodes.members().get(1).pause();
      nodes.heal();
      for (RedisServer node : nodes.members()) {
        assertEquals("PONG", node.call("PING"));
      }
    }
  }

  @Test
  void clocksAreWrongAndStayWrongAcrossARestart() throws IOException {
    Duration ahead = Duration.ofMinutes(10);
    try (RedlockNodes nodes = startWithClocks(ahead, ahead.negated())) {
      RedisServer behind = nodes.members().get(1);
      behind.restart();
      long before = System.currentTimeMillis() / 1_000;
      assertAbout(before, time(nodes.members().get(2)));
      assertAbout(before + ahead.toSeconds(), time(nodes.members().get(0)));
      assertAbout(before - ahead.toSeconds(), time(behind));
      // keys expire by the wrong clock, after the correct time
      behind.call("SET", "key", "value", "PX", "600000");
      assertAbout(600, (Long) behind.call("PTTL", "key") / 1_000);
    }
  }

  @Test
  void aClockIsSetWhileTheServerRuns() throws IOException {
    try (RedlockNodes nodes = startWithClocks(Duration.ZERO)) {
      RedisServer server = nodes.members().get(0);
      assertTrue(server.canSetClock());
      assertFalse(nodes.members().get(1).canSetClock());
      server.call("SET", "key", "value", "PX", "600000");
      server.setClock(Duration.ofMinutes(5));
      assertAbout(300, (Long) server.call("PTTL", "key") / 1_000);
      server.setClock(Duration.ofMinutes(20));
      assertNull(server.call("GET", "key"), "what has expired by the server's clock is gone");
      server.restart();
      assertAbout(System.currentTimeMillis() / 1_000 + 1_200, time(server));
      server.setClock(Duration.ZERO);
      assertAbout(System.currentTimeMillis() / 1_000, time(server));
    }
  }

  private static RedlockNodes startWithClocks(Duration... ahead) {
    try {
      return Testbed.redlockNodes().using(ServerSource.BINARY).nodes(3).clocksAhead(ahead).start();
    } catch (NoServerException e) {
      assumeTrue(Testbed.requiresAll(), e.getMessage());
      throw e;
    }
  }

  /** Tolerates a minute, since a busy machine may stall. */
  private static void assertAbout(long expected, long seconds) {
    assertTrue(Math.abs(seconds - expected) < 60, () -> seconds + " s, not " + expected);
  }

  private static long time(RedisServer server) throws IOException {
    return Long.parseLong((String) ((List<?>) server.call("TIME")).get(0));
  }
}
