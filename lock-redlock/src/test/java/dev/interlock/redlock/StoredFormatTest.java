package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.soon;
import static dev.interlock.redlock.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockBackend;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Values of other versions on the nodes are understood or refused, and never misread. */
class StoredFormatTest {

  private static final String RECORD = "interlock:redlock";
  private static final String LOCK = "interlock:{job}";

  @Test
  void otherFormatsOnNodes() throws Exception {
    try (RedlockNodes nodes = Testbed.redlockNodes().nodes(3).start();
        LockBackend backend = Backends.open(nodes.uri())) {
      for (RedisServer node : nodes.members()) {
        assertEquals("1", node.call("HGET", RECORD, "format"));
        node.call("HDEL", RECORD, "format"); // as version 0.1
      }
      Claim claim = claim("job");
      take(backend, claim);
      assertTrue(backend.release(claim, soon()));

      for (RedisServer node : nodes.members()) {
        node.call("SET", LOCK, "v2|whatever|app", "PX", "60000");
      }
      assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
      assertEquals(
          "(format 2, written by a newer version of Interlock)",
          backend.inspect("job", soon()).holder().flatMap(first -> first.label()).orElseThrow());
      assertRefused("holds format 2", () -> backend.forceRelease("job", soon()));

      for (RedisServer node : nodes.members()) {
        node.call("DEL", LOCK);
        node.call("HSET", RECORD, "format", "3");
      }
      assertRefused("holds format 3", () -> backend.tryAcquire(claim("job"), soon()));
      assertRefused("holds format 3", () -> Backends.open(nodes.uri()).close());
      assertNull(nodes.members().get(0).call("GET", LOCK));
    }
  }

  private static void assertRefused(String problem, Executable request) {
    String message = assertThrows(LockConfigurationException.class, request).getMessage();
    assertTrue(message.contains(problem), message);
  }
}
