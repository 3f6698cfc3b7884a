package dev.interlock.testbed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.redis.RedisBuilder;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisSentinels;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class NamedEndpointTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();
  private static final List<String> SETTINGS =
      List.of(
          "interlock.redis.uri",
          "interlock.redis.cluster.uri",
          "interlock.redis.sentinel.uri",
          "interlock.redlock.uri",
          "interlock.zookeeper.uri",
          "interlock.etcd.uri");

  @AfterEach
  void forgetTheNames() {
    SETTINGS.forEach(System::clearProperty);
  }

  @Test
  void isUsedBeforeAllOtherWays() throws IOException {
    try (RedisServer users =
        Testbed.redis().using(ServerSource.BINARY).password("secret").start()) {
      System.setProperty("interlock.redis.uri", users.uri());
      try (RedisServer redis = Testbed.redis().start()) {
        assertEquals(users.uri(), redis.uri());
        assertEquals("endpoint 127.0.0.1:" + users.port(), redis.source());
        assertEquals(users.version(), redis.version());
        assertEquals("PONG", redis.call("PING"));
        assertEquals(List.of(), redis.members());
        assertFalse(redis.toString().contains("secret"));
      }
      assertEquals("PONG", users.call("PING"), "closing must leave the user's server alone");
    }
  }

  @Test
  void refusesToBeHurt() {
    try (RedisServer users = Testbed.redis().using(ServerSource.BINARY).start()) {
      System.setProperty("interlock.redis.uri", users.uri());
      try (RedisServer redis = Testbed.redis().start()) {
        assertFalse(redis.acceptsFaults());
        List<Runnable> faults =
            List.of(redis::pause, redis::resume, redis::kill, redis::restart, redis::restartEmpty);
        for (Runnable fault : faults) {
          UnsupportedOperationException refused =
              assertThrows(UnsupportedOperationException.class, fault::run);
          assertTrue(refused.getMessage().contains("forFaults()"), refused.getMessage());
        }
        redis.heal();
        assertTrue(users.answers(DisposableServer.LIMIT));
      }
    }
  }

  @Test
  void isPassedOverWhenFaultsOrSettingsAreWanted() {
    try (RedisServer users = Testbed.redis().using(ServerSource.BINARY).start()) {
      System.setProperty("interlock.redis.uri", users.uri());
      try (RedisServer ours =
          Testbed.redis().using(ServerSource.ENDPOINT, ServerSource.BINARY).forFaults().start()) {
        assertTrue(ours.acceptsFaults());
      }
      try (RedisServer ours =
          Testbed.redis()
              .using(ServerSource.ENDPOINT, ServerSource.BINARY)
              .appendOnly(RedisBuilder.AppendOnly.OFF)
              .start()) {
        assertTrue(ours.acceptsFaults());
      }
    }
  }

  @Test
  void thatDoesNotServeIsAnErrorAndNotReplaced() {
    int port = Ports.reserve();
    try {
      System.setProperty("interlock.redis.uri", "redis://:secret@127.0.0.1:" + port);
      NoServerException e = assertThrows(NoServerException.class, () -> Testbed.redis().start());
      assertTrue(e.getMessage().contains("Connection refused"), e.getMessage());
      assertFalse(e.getMessage().contains("binary"), e.getMessage());
      assertFalse(e.getMessage().contains("secret"), e.getMessage());
    } finally {
      Ports.release(port);
    }
  }

  @Test
  void ofAnotherSchemeIsRefusedWithWhatWouldBeRight() {
    System.setProperty("interlock.etcd.uri", "http://user:secret@127.0.0.1:2379");
    NoServerException e = assertThrows(NoServerException.class, () -> Testbed.etcd().start());
    assertTrue(e.getMessage().contains("must begin with etcd://"), e.getMessage());
    assertFalse(e.getMessage().contains("secret"), e.getMessage());
  }

  @Test
  void mayBeAClusterASentinelGroupOrRedlockNodes() {
    try (RedisCluster users =
        Testbed.redisCluster().using(ServerSource.BINARY).tls().password("secret").start()) {
      System.setProperty("interlock.redis.cluster.uri", users.uri());
      expectUsed(users, Testbed.redisCluster().start());
    }
    try (RedisSentinels users = Testbed.redisSentinels().using(ServerSource.BINARY).start()) {
      System.setProperty("interlock.redis.sentinel.uri", users.uri());
      expectUsed(users, Testbed.redisSentinels().start());
    }
    try (RedlockNodes users = Testbed.redlockNodes().using(ServerSource.BINARY).nodes(3).start()) {
      System.setProperty("interlock.redlock.uri", users.uri());
      expectUsed(users, Testbed.redlockNodes().start());
    }
  }

  @Test
  void mayBeZooKeeperOrEtcd() {
    try (ZooKeeperEnsemble users = Testbed.zookeeper().using(ServerSource.EMBEDDED).start()) {
      System.setProperty("interlock.zookeeper.uri", users.uri());
      expectUsed(users, Testbed.zookeeper().start());
    }
    try (EtcdCluster users =
        Testbed.etcd().using(ServerSource.BINARY).tls().password("secret").start()) {
      System.setProperty("interlock.etcd.uri", users.uri());
      expectUsed(users, Testbed.etcd().start());
    }
  }

  private static void expectUsed(Deployment users, Deployment named) {
    assertEquals(users.uri(), named.uri());
    assertEquals(users.version(), named.version());
    assertTrue(named.source().startsWith("endpoint 127.0.0.1:"), named.source());
    assertEquals(List.of(), named.members());
    assertEquals(List.of(), named.leaders());
    assertFalse(named.canChangeLeader());
    assertThrows(UnsupportedOperationException.class, named::changeLeader);
    named.heal();
    named.close();
    users.heal();
  }
}
