package dev.interlock.testbed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Runs if there are a daemon and the images. If everything is required, their absence is a failure.
 */
@Tag("extended")
class DockerTest {
  @Test
  void aRedisInAContainerCanBeHurtAsAnyOther() throws IOException {
    try (RedisServer redis = Docker.start(Testbed.redis())) {
      assertTrue(redis.source().startsWith("container of image "), redis.source());
      redis.call("SET", "key", "value");
      redis.pause();
      assertFalse(redis.answers(Duration.ofMillis(200)));
      redis.resume();
      redis.kill();
      assertThrows(ConnectException.class, () -> redis.call("PING"));
      redis.restart();
      assertEquals("value", redis.call("GET", "key"));
      redis.pause();
      redis.kill();
      redis.restartEmpty();
      assertEquals(null, redis.call("GET", "key"));
    }
  }

  @Test
  void aServerThatCannotStartTellsWhatItWrote() {
    Docker.requireRedis();
    NoServerException e =
        assertThrows(
            NoServerException.class,
            () ->
                Testbed.redis().using(ServerSource.DOCKER).config("no-such-directive yes").start());
    assertTrue(e.getMessage().contains("no-such-directive"), e.getMessage());
  }

  @Test
  void aClusterOfContainersFailsOver() throws IOException {
    try (RedisCluster cluster = Docker.start(Testbed.redisCluster().tls())) {
      RedisServer lost = cluster.masterFor("key");
      lost.kill();
      assertNotEquals(lost, cluster.awaitFailOver(lost));
      cluster.heal();
      assertEquals("slave", lost.info("replication", "role"));
    }
  }

  @Test
  void anEtcdClusterOfContainersReplacesItsLeader() {
    try (EtcdCluster etcd = Docker.start(Testbed.etcd().members(3))) {
      EtcdServer lost = etcd.leader();
      lost.pause();
      assertNotEquals(lost, etcd.awaitLeaderOtherThan(lost));
      etcd.heal();
    }
  }

  @Test
  void anImageThatCannotBeHadIsTold() {
    Docker.requireRedis();
    System.setProperty("interlock.redis.image", "localhost:1/no/such:image");
    try {
      NoServerException e =
          assertThrows(
              NoServerException.class, () -> Testbed.redis().using(ServerSource.DOCKER).start());
      assertTrue(e.getMessage().contains("localhost:1/no/such:image"), e.getMessage());
    } finally {
      System.clearProperty("interlock.redis.image");
    }
  }
}
