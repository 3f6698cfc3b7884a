package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Locks through a framework of the program's own, and the access lists of users with a password.
 */
class ZooKeeperLocksTest {

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;

  @BeforeAll
  static void start() {
    server = Backends.server();
    observer = Backends.curator(server.connectString());
  }

  @Test
  void theProgramsFrameworkIsNeverClosedAndItsLocksAreReleased() throws Exception {
    try (CuratorFramework curator = Backends.curator(server.connectString())) {
      LockClient client = ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS);
      Lease unused = client.lock("lent").acquire();
      assertEquals(1, observer.getChildren().forPath("/interlock/lent").size());
      client.close();
      assertEquals(CuratorFrameworkState.STARTED, curator.getState());
      assertEquals(0, curator.getChildren().forPath("/interlock/lent").size());
    }
  }

  @Test
  void aConnectionThatBreaksWhileAClientOpensIsReplaced() throws Exception {
    int port = server.members().get(0).port();
    try (FaultProxy way = FaultProxy.to("127.0.0.1", port);
        CuratorFramework curator = Backends.curator("127.0.0.1:" + way.port())) {
      assertTrue(curator.blockUntilConnected(60, SECONDS));
      LockOptions patient =
          LockOptions.builder().ttl(Backends.TTL).requestTimeout(Duration.ofSeconds(50)).build();
      FutureTask<LockClient> opening =
          new FutureTask<>(() -> ZooKeeperLocks.using(curator, Backends.SETTINGS, patient));
      Thread opener = new Thread(opening, "opener");
      NetworkFault unheard = way.holdOpenConnections(Direction.CLIENT_TO_SERVER);
      opener.start();
      Eventually.holds(
          "it waits for an answer", () -> opener.getState() == Thread.State.TIMED_WAITING);
      way.reset();
      unheard.close();
      try (LockClient client = opening.get(60, SECONDS)) {
        assertTrue(client.lock("lent").tryAcquire().isPresent());
      }
    }
  }

  @Test
  void aFrameworkThatIsNotRunningIsRefused() throws Exception {
    CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(server.connectString())
            .retryPolicy((count, elapsed, sleeper) -> false)
            .zkClientConfig(Backends.withoutSasl())
            .build();
    LockConfigurationException latent =
        assertThrows(LockConfigurationException.class, () -> ZooKeeperLocks.using(curator));
    assertTrue(latent.getMessage().contains("call its start() first"), latent::getMessage);
    curator.start();
    try (LockClient client = ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS)) {
      curator.close();
      LockConfigurationException closed =
          assertThrows(LockConfigurationException.class, () -> client.lock("job").tryAcquire());
      assertTrue(closed.getMessage().contains("was closed before"), closed::getMessage);
    }
  }

  @Test
  void theFrameworksNamespaceAndAccessListsApplyToLocks() throws Exception {
    ACLProvider provider =
        new ACLProvider() {
          @Override
          public List<ACL> getDefaultAcl() {
            return Ids.OPEN_ACL_UNSAFE;
          }

          @Override
          public List<ACL> getAclForPath(String path) {
            return path.contains("/interlock/private") ? Ids.CREATOR_ALL_ACL : Ids.OPEN_ACL_UNSAFE;
          }
        };
    try (CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(server.connectString())
            .namespace("team")
            .aclProvider(provider)
            .authorization("digest", "ann:secret".getBytes(UTF_8))
            .retryPolicy((count, elapsed, sleeper) -> false)
            .zkClientConfig(Backends.withoutSasl())
            .build()) {
      curator.start();
      try (LockClient client = ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS)) {
        Lease hidden = client.lock("private").acquire();
        Lease open = client.lock("public").acquire();
        assertEquals(1, observer.getChildren().forPath("/team/interlock/public").size());
        assertThrows(
            KeeperException.NoAuthException.class,
            () -> observer.getChildren().forPath("/team/interlock/private"));
        hidden.release();
        open.release();
      }
    }
  }

  @Test
  void theLocksOfAUserAreForThatUserAloneAndTheNamespaceForAll() throws Exception {
    String address = server.connectString();
    String parameters = "?tickTime=200ms&namespace=shared&requestTimeout=10s";
    try (LockClient ann = LockClient.open("zookeeper://ann:secret@" + address + parameters);
        LockClient bob = LockClient.open("zookeeper://bob:secret@" + address + parameters);
        LockClient again = LockClient.open("zookeeper://ann:secret@" + address + parameters)) {
      Lease lease = ann.lock("anns").acquire();
      assertTrue(again.lock("anns").tryAcquire().isEmpty());
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> bob.lock("anns").tryAcquire());
      assertTrue(e.getMessage().contains("does not grant this client"), e::getMessage);
      bob.lock("bobs").acquire().release();
      lease.release();
    }
  }

  @Test
  void aRenewalIsAWriteThatTheEnsembleCommitsAndFindsWhoseNodeHasGone() throws Exception {
    try (ZooKeeperBackend backend = Backends.open(Backends.uri(server))) {
      Grant one = Backends.take(backend, Backends.claim("one"));
      Grant two = Backends.take(backend, Backends.claim("two"));
      Grant three = Backends.take(backend, Backends.claim("three"));
      String before = zxid();
      Renewal renewal = backend.renew(one, Backends.soon());
      assertNotEquals(before, zxid());
      long validUntil = assertInstanceOf(Renewal.Renewed.class, renewal).validUntil();
      assertTrue(validUntil - one.validUntil() > 0);
      assertTrue(backend.forceRelease("two", Backends.soon()));
      var outcomes = backend.renewAll(List.of(one, two, three), Backends.soon());
      assertInstanceOf(Renewal.Renewed.class, outcomes.get(0));
      assertEquals(
          LossReason.TAKEN, assertInstanceOf(Renewal.Lost.class, outcomes.get(1)).reason());
      assertInstanceOf(Renewal.Renewed.class, outcomes.get(2));
    }
  }

  private static String zxid() throws Exception {
    return server
        .members()
        .get(0)
        .ask("srvr")
        .lines()
        .filter(line -> line.startsWith("Zxid"))
        .findFirst()
        .orElseThrow();
  }
}
