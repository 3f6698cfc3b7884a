package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.RedisClient;

/**
 * A primary that has become a replica: it is alive, and so are the connections to it. Its address
 * now leads to the new primary.
 */
class DemotedPrimaryTest {

  @AutoClose private static final RedisServer first = Testbed.redis().start();
  @AutoClose private static final RedisServer second = Testbed.redis().start();
  @AutoClose private MovableAddress address;
  private RedisServer primary;
  private RedisServer replica;

  @BeforeEach
  void replicate() throws Exception {
    primary = first;
    replica = second;
    primary.call("REPLICAOF", "NO", "ONE");
    primary.call("FLUSHALL");
    follow(replica, primary);
    address = MovableAddress.of(primary);
  }

  private static void follow(RedisServer one, RedisServer other) throws Exception {
    one.call("REPLICAOF", other.host(), Integer.toString(other.port()));
    Eventually.holds("linked", () -> one.info("replication", "master_link_status").equals("up"));
  }

  /** Waits until the replica has all writes. */
  private void failOver() throws Exception {
    Eventually.holds("replicated", () -> replica.keys().keySet().equals(primary.keys().keySet()));
    replica.call("REPLICAOF", "NO", "ONE");
    follow(primary, replica);
    address.moveTo(replica);
  }

  /** The ways to open a backend: by the URI, or through the program's Jedis client. */
  enum Access {
    URI,
    JEDIS;

    LockBackend open(MovableAddress address) {
      if (this == URI) {
        return Backends.open(address.uri());
      }
      RedisClient jedis =
          RedisClient.builder()
              .hostAndPort("127.0.0.1", address.port())
              .clientConfig(Backends.jedisConfig())
              .build();
      return new ClosingBackend(
          JedisClients.backend(jedis, RedisSettings.defaults(), Backends.context()), jedis);
    }
  }

  @ParameterizedTest
  @EnumSource
  void allItsConnectionsAreDroppedAtTheFirstRefusedRenewal(Access access) throws Exception {
    try (LockBackend backend = access.open(address)) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        grants.add(take(backend, claim("job " + i)));
      }
      Backends.occupyConnections(primary, backend, 4);
      failOver();
      for (Renewal outcome : backend.renewAll(grants, soon())) {
        LockException problem = assertInstanceOf(Renewal.Failed.class, outcome).problem();
        assertTrue(problem.getMessage().contains("is a read-only replica"), problem::getMessage);
      }
      for (Renewal outcome : backend.renewAll(grants, soon())) {
        assertInstanceOf(Renewal.Confirmed.class, outcome, outcome::toString);
      }
      for (Grant grant : grants) {
        assertTrue(backend.release(grant.claim(), soon()));
        assertNull(replica.call("GET", "interlock:{" + grant.claim().name() + "}"));
      }
    }
  }

  /** Connections may stay, or come back, to a server that is no longer the primary. */
  @Test
  void whatALaggingReplicaLacksIsNoLoss() throws Exception {
    try (LockBackend backend = Backends.open(address.uri());
        LockBackend successor = Backends.open(replica.uri())) {
      take(backend, claim("passed on"));
      Eventually.holds("replicated", () -> replica.keys().keySet().equals(primary.keys().keySet()));
      replica.call("REPLICAOF", "NO", "ONE");
      primary.call("REPLICAOF", "127.0.0.1", "1");
      successor.forceRelease("passed on", soon());
      for (String name : List.of("new", "passed on")) {
        Grant grant = take(successor, claim(name));
        LockException problem =
            assertInstanceOf(Renewal.Failed.class, backend.renew(grant, soon())).problem();
        assertTrue(problem.getMessage().contains("is a read-only replica"), problem::getMessage);
        assertUnavailable(() -> backend.release(grant.claim(), soon()));
        assertUnavailable(() -> backend.forceRelease(name, soon()));
        assertUnavailable(() -> backend.revoke(name, soon()));
        assertUnavailable(() -> backend.inspect(name, soon()));
        assertInstanceOf(Renewal.Confirmed.class, successor.renew(grant, soon()));
        assertTrue(successor.release(grant.claim(), soon()));
        assertFalse(successor.release(grant.claim(), soon()));
      }
    }
  }

  private static void assertUnavailable(Executable action) {
    LockUnavailableException e = assertThrows(LockUnavailableException.class, action);
    assertTrue(e.getMessage().contains("is a read-only replica"), e::getMessage);
  }
}
