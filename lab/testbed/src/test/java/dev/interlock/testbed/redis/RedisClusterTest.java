package dev.interlock.testbed.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class RedisClusterTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static RedisCluster start() {
    return withLongTimeout().start();
  }

  private static RedisCluster.Builder withLongTimeout() {
    return Testbed.redisCluster().using(ServerSource.BINARY).nodeTimeout(Duration.ofSeconds(5));
  }

  @Test
  @Tag("extended")
  void hasThreeMastersWithAReplicaEachAndServesEverySlot() throws IOException {
    try (RedisCluster cluster = start()) {
      assertEquals(6, cluster.members().size());
      assertEquals(cluster.members().subList(0, 3), cluster.masters());
      for (RedisServer master : cluster.masters()) {
        RedisServer replica = cluster.peersOf(master).get(0);
        assertEquals("slave", replica.info("replication", "role"));
      }
      assertEquals(
          cluster.members().stream()
              .map(node -> "127.0.0.1:" + node.port())
              .collect(Collectors.joining(",", "redis-cluster://", "")),
          cluster.uri());
      cluster.masterFor("key").call("SET", "key", "value");
      RedisServer other =
          cluster.masters().stream()
              .filter(m -> !m.equals(cluster.masterFor("key")))
              .findFirst()
              .orElseThrow();
      RedisReplyException moved =
          assertThrows(RedisReplyException.class, () -> other.call("GET", "key"));
      assertTrue(moved.getMessage().startsWith("MOVED"), moved.getMessage());
    }
  }

  @Test
  @Tag("extended")
  void anOrderlyFailOverKeepsTheDataAndTurnsTheMasterIntoAReplica() throws IOException {
    try (RedisCluster cluster = start()) {
      RedisServer old = cluster.masterFor("key");
      old.call("SET", "key", "value");
      RedisServer successor = cluster.failOver(old);
      assertEquals(List.of(successor), cluster.peersOf(old));
      assertEquals(successor, cluster.masterFor("key"));
      assertEquals("value", successor.call("GET", "key"));
      cluster.heal();
      assertEquals("slave", old.info("replication", "role"));
    }
  }

  @Test
  void replacesAKilledMasterAndTakesItBackAsAReplica() throws IOException {
    try (RedisCluster cluster = start()) {
      RedisServer lost = cluster.masterFor("key");
      lost.kill();
      RedisServer successor = cluster.awaitFailOver(lost);
      assertNotEquals(lost, successor);
      assertEquals("OK", successor.call("SET", "key", "value"));
      cluster.heal();
      assertEquals("slave", lost.info("replication", "role"));
      assertEquals(successor, cluster.masterFor("key"));
    }
  }

  @Test
  @Tag("extended")
  void replacesAMasterThatIsCutOff() throws Exception {
    try (RedisCluster cluster = withLongTimeout().separable().start()) {
      assertTrue(cluster.canCutOff());
      RedisServer lost = cluster.masterFor("key");
      cluster.cutOff(lost);
      assertEquals("OK", lost.call("SET", "key", "old"));
      Eventually.holds("it is replaced", () -> !cluster.masterFor("key").equals(lost));
      RedisServer successor = cluster.masterFor("key");
      assertEquals("master", lost.info("replication", "role"));
      assertEquals("OK", successor.call("SET", "key", "new"));
      cluster.heal();
      assertEquals("slave", lost.info("replication", "role"));
    }
  }

  @Test
  @Tag("extended")
  void replacesAPausedMaster() {
    try (RedisCluster cluster = start()) {
      RedisServer lost = cluster.masterFor("key");
      lost.pause();
      RedisServer successor = cluster.awaitFailOver(lost);
      cluster.heal();
      assertEquals(successor, cluster.masterFor("key"));
    }
  }

  @Test
  @Tag("extended")
  void aClusterSpeaksTlsToClientsAndAmongItself() throws IOException {
    try (RedisCluster cluster =
        Testbed.redisCluster().using(ServerSource.BINARY).tls().password("secret").start()) {
      assertTrue(cluster.uri().startsWith("rediss-cluster://:secret@127.0.0.1:"));
      RedisServer old = cluster.masterFor("key");
      old.call("SET", "key", "value");
      assertEquals("value", cluster.failOver(old).call("GET", "key"));
    }
  }

  @Test
  @Tag("extended")
  void theEmbeddedProgramFormsAClusterToo() {
    try (RedisCluster cluster = Testbed.redisCluster().using(ServerSource.EMBEDDED).start()) {
      assertEquals(3, cluster.masters().size());
    }
  }
}
