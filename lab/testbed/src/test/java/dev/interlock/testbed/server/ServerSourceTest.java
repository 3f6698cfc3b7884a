package dev.interlock.testbed.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ServerSourceTest {
  @AfterEach
  void forgetTheSettings() {
    System.clearProperty("interlock.ways");
    System.clearProperty("interlock.redis.binary");
  }

  @Test
  void aFailureListsEachSourceThatWasTriedWithItsReason() {
    System.setProperty("interlock.redis.binary", "/no/such/program");
    NoServerException e =
        assertThrows(
            NoServerException.class,
            () -> Testbed.redis().using(ServerSource.ENDPOINT, ServerSource.BINARY).start());
    assertEquals(
        List.of(
            "no Redis available",
            "  endpoint: INTERLOCK_REDIS_URI is not set",
            "  binary: INTERLOCK_REDIS_BINARY names /no/such/program, which is not an executable file"),
        e.getMessage().lines().toList());
  }

  @Test
  void thereIsNoEmbeddedEtcd() {
    NoServerException e =
        assertThrows(
            NoServerException.class, () -> Testbed.etcd().using(ServerSource.EMBEDDED).start());
    assertTrue(e.getMessage().contains("no embedded etcd"), e.getMessage());
  }

  @Test
  void theUserMayChooseTheSourcesForAll() {
    System.setProperty("interlock.ways", "embedded, binary");
    try (RedisServer redis = Testbed.redis().start()) {
      assertTrue(redis.source().startsWith("embedded"), redis.source());
    }
  }

  @Test
  void aSourceThatDoesNotExistIsRefused() {
    System.setProperty("interlock.ways", "binary,magic");
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, Testbed::redis);
    assertEquals(
        "INTERLOCK_WAYS names the source \"magic\", but there are only"
            + " [endpoint, docker, binary, embedded]",
        e.getMessage());
  }

  @Test
  void aBindConflictIsTriedAgainAFewTimes() {
    List<Integer> attempts = new ArrayList<>();
    String started =
        DeploymentBuilder.retryOnBindConflict(
            () -> {
              attempts.add(attempts.size());
              if (attempts.size() < 3) {
                throw new BindConflictException("taken");
              }
              return "started";
            });
    assertEquals("started", started);
    assertThrows(
        BindConflictException.class,
        () ->
            DeploymentBuilder.retryOnBindConflict(
                () -> {
                  throw new BindConflictException("taken");
                }));
  }
}
