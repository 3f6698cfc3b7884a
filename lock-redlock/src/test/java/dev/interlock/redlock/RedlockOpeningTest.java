package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;

/** Nodes and settings that cannot work are refused, with the problem and a remedy. */
class RedlockOpeningTest {

  /** A node that stands still for a while is no dead one. */
  private static final String LONG_TIMEOUT = "nodeTimeout=5s";

  private static final LockOptions OPTIONS =
      LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();

  @AutoClose
  private static final RedlockNodes redlock = Testbed.redlockNodes().nodes(3).forFaults().start();

  private static final List<RedisServer> nodes = redlock.members();

  @AfterEach
  void heal() throws Exception {
    redlock.heal();
    for (RedisServer node : nodes) {
      node.call("REPLICAOF", "NO", "ONE");
      node.call("FLUSHALL"); // a new cluster: nobody waits until a killed one may vote again
    }
  }

  private static LockClient open(String uri) {
    return LockClient.open(uri, OPTIONS);
  }

  private static String refused(String uri) {
    String message =
        assertThrows(LockConfigurationException.class, () -> open(uri).close()).getMessage();
    assertFalse(message.contains("s3cret"), message);
    return message;
  }

  private static String addresses() {
    return nodes.stream().map(n -> "127.0.0.1:" + n.port()).collect(Collectors.joining(","));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "redlock://a                     | 3, 5 or 7",
        "redlock://a,b                   | 3, 5 or 7",
        "redlock://:s3cret@a,b,c,d       | 4 nodes are no better than 3",
        "redlock://a,b,a                 | twice",
        "redlock://a,b,c?drift=0.9       | drift",
        "redlock://a,b,c?drift=much      | drift",
        "redlock://a,b,c?maxTtl=1ms     | maxTtl",
        "redlock://a,b,c?nodeTimeout=2m  | nodeTimeout",
        "redlock://a,b,c?durable=perhaps | durable",
        "redlock://a,b,c?quorum=1        | unknown parameter quorum",
        "redlock://a,b,c?caCert=/etc/hostname | redlocks://",
        "redlock://a,b,c/mymaster        | database",
        "redlock:                        | host"
      })
  void aUriThatCannotWorkIsRefusedBeforeAnythingIsConnectedTo(String uri, String problem) {
    String message = refused(uri.strip());
    assertTrue(message.contains(problem.strip()), message);
  }

  @Test
  void anEvenNumberIsAcceptedIfInsistedUpon() {
    String two = "redlock://127.0.0.1:" + nodes.get(0).port() + ",127.0.0.1:" + nodes.get(1).port();
    try (LockClient client = open(two + "?force=true&namespace=two&" + LONG_TIMEOUT)) {
      client.lock("job").tryAcquire().orElseThrow().release();
    }
  }

  @Test
  void aServerThatIsListedUnderTwoNamesIsFoundOut() {
    String first = Integer.toString(nodes.get(0).port());
    String uri =
        "redlock://127.0.0.1:"
            + first
            + ",localhost:"
            + first
            + ",127.0.0.1:"
            + nodes.get(1).port()
            + "?"
            + LONG_TIMEOUT;
    assertTrue(refused(uri).contains("is the same server as"));
  }

  @Test
  void aReplicaIsNoNode() throws Exception {
    nodes.get(2).call("REPLICAOF", "127.0.0.1", Integer.toString(nodes.get(0).port()));
    assertTrue(refused(redlock.uri() + "?" + LONG_TIMEOUT).contains("is a replica"));
  }

  @Test
  void aClientWithAnotherMaxTtlIsRefused() {
    String ttls = redlock.uri() + "?namespace=TTLs&" + LONG_TIMEOUT;
    open(ttls + "&maxTtl=40s").close();
    String message = refused(ttls + "&maxTtl=50s");
    assertTrue(message.contains("maxTtl=40000ms"), message);
  }

  @Test
  void aClientWithAnotherNumberOfNodesIsRefusedAndDisturbsNobody() throws Exception {
    String query = "?force=true&namespace=number&" + LONG_TIMEOUT;
    String two = "redlock://127.0.0.1:" + nodes.get(0).port() + ",127.0.0.1:" + nodes.get(1).port();
    String back =
        "redlock://localhost:%d,localhost:%d,localhost:%d"
            .formatted(nodes.get(2).port(), nodes.get(1).port(), nodes.get(0).port());
    try (LockClient client = open(redlock.uri() + query);
        Lease lease = client.lock("job").tryAcquire().orElseThrow()) {
      String message = refused(two + query);
      assertTrue(message.contains("is one of 3 nodes, and this client lists 2"), message);
      lease.renew();
      // In another order, and by other names, they are the same.
      try (LockClient other = open(back + query)) {
        assertTrue(other.lock("job").tryAcquire().isEmpty());
      }
    }
  }

  @Test
  void aTtlThatIsLongerThanMaxTtlIsRefused() {
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.ofMinutes(5))
            .requestTimeout(Duration.ofSeconds(20))
            .build();
    try (LockClient client = LockClient.open(redlock.uri() + "?" + LONG_TIMEOUT, options)) {
      String message =
          assertThrows(LockConfigurationException.class, () -> client.lock("job").tryAcquire())
              .getMessage();
      assertTrue(message.contains("maxTtl"), message);
    }
  }

  @Test
  void aMissingMajorityIsToldInTimeWithEachNodeOnce() {
    nodes.get(0).kill();
    nodes.get(1).kill();
    long start = System.nanoTime();
    LockUnavailableException failure =
        assertThrows(
            LockUnavailableException.class,
            () -> LockClient.open(redlock.uri() + "?" + LONG_TIMEOUT).close());
    assertTrue(System.nanoTime() - start < Duration.ofSeconds(30).toNanos());
    assertTrue(
        failure
            .getMessage()
            .contains(
                "127.0.0.1:%d, 127.0.0.1:%d: failed: the connection was refused"
                    .formatted(nodes.get(0).port(), nodes.get(1).port())),
        failure::getMessage);
  }

  @Test
  void aMissingMinorityIsNoHindrance() {
    open(redlock.uri() + "?" + LONG_TIMEOUT).close(); // all nodes have to be there once
    nodes.get(1).kill();
    try (LockClient client = open(redlock.uri() + "?" + LONG_TIMEOUT);
        Lease lease = client.lock("job").tryAcquire().orElseThrow()) {
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void clientsThatOpenANewClusterTogetherAllFindItVoting() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (int round = 0; round < 20; round++) {
        String uri = redlock.uri() + "?nodeTimeout=5s&namespace=new" + round;
        List<Future<LockClient>> opening = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
          opening.add(threads.submit(() -> open(uri)));
        }
        for (Future<LockClient> each : opening) {
          try (LockClient client = each.get()) {
            client.lock("job").acquire().release();
          }
        }
        for (RedisServer node : nodes) {
          Object pending = node.call("HGET", "new" + round + ":redlock", "pending");
          assertNull(pending, () -> node + " is in quarantine");
        }
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void jedisClientsOfTheProgramsOwnAreTaken() {
    List<UnifiedJedis> own = new ArrayList<>();
    nodes.forEach(node -> own.add(RedisClient.create("127.0.0.1", node.port())));
    RedlockSettings settings = RedlockSettings.builder().nodeTimeout(Duration.ofSeconds(5)).build();
    try (LockClient client = RedlockLocks.using(own, settings, OPTIONS);
        LockClient other = open("redlock://" + addresses() + "?" + LONG_TIMEOUT)) {
      Lease lease = client.lock("own").tryAcquire().orElseThrow();
      assertTrue(other.lock("own").tryAcquire().isEmpty());
      lease.release();
      other.lock("own").tryAcquire().orElseThrow().release();
    } finally {
      own.forEach(UnifiedJedis::close);
    }
  }

  @Test
  void nodesOfTheProgramsOwnClientsAreToldByTheirAddresses() {
    nodes.get(0).kill();
    nodes.get(1).kill();
    List<UnifiedJedis> own = new ArrayList<>();
    nodes.forEach(node -> own.add(RedisClient.create("127.0.0.1", node.port())));
    try {
      String message =
          assertThrows(LockUnavailableException.class, () -> RedlockLocks.using(own).close())
              .getMessage();
      for (RedisServer node : nodes) {
        assertTrue(message.contains("127.0.0.1:" + node.port()), message);
      }
    } finally {
      own.forEach(UnifiedJedis::close);
    }
  }
}
