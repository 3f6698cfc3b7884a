package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.zookeeper.ZooKeeperServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** Every configuration problem is reported in time, with a helpful message. */
class BadInputTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  /** Far beyond the request time-outs of 2 s and 5 s, for machines that are busy. */
  private static final Duration LIMIT = Duration.ofSeconds(30);

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework operator;

  @BeforeAll
  static void start() {
    server = Backends.server();
    operator = Backends.curator(server.connectString());
  }

  @Test
  void aPortWithoutAServerIsReported() throws Exception {
    int port = Testbed.freePort();
    assertSays(
        LockUnavailableException.class,
        "no server accepted a connection within 2000 ms",
        () -> LockClient.open("zookeeper://127.0.0.1:" + port));
  }

  @Test
  void aServerThatAcceptsAndStaysSilentIsReportedInTime() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      assertSays(
          LockUnavailableException.class,
          "no server accepted a connection",
          () -> LockClient.open("zookeeper://127.0.0.1:" + silent.getLocalPort()));
    }
  }

  @Test
  void aMissingChrootIsRefusedWhenAClientOpens() {
    assertSays(
        LockConfigurationException.class,
        "the chroot's node does not exist",
        () -> LockClient.open(server.uri() + "/no/such/node", Backends.OPTIONS));
  }

  @Test
  void anExistingChrootIsUsed() throws Exception {
    operator.create().creatingParentsIfNeeded().forPath("/teams/one");
    try (LockClient client =
        LockClient.open(server.uri() + "/teams/one?tickTime=200ms", Backends.OPTIONS)) {
      Lease unused = client.lock("job").acquire();
      assertEquals(List.of("job"), operator.getChildren().forPath("/teams/one/interlock"));
    }
  }

  @Test
  void aRefusalByTheAccessListIsExplained() throws Exception {
    List<ACL> readOnly = List.of(new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));
    operator.create().withACL(readOnly).forPath("/locked");
    for (String name : List.of("try", "wait")) {
      try (LockClient client =
          LockClient.open(server.uri() + "?tickTime=200ms&namespace=locked", Backends.OPTIONS)) {
        assertSays(
            LockConfigurationException.class,
            "does not grant this client the rights that locks need at /locked/" + name,
            () -> {
              if (name.equals("try")) {
                client.lock(name).tryAcquire();
              } else {
                client.lock(name).acquire();
              }
            });
      }
    }
  }

  @Test
  void aForeignNodeInTheQueueIsRefusedAndTheClientsOwnIsRemoved() throws Exception {
    operator.create().creatingParentsIfNeeded().forPath("/interlock/mixed/_c_1-lock-0000000000");
    try (LockClient client = Backends.client(server)) {
      String message =
          "the node \"/interlock/mixed/_c_1-lock-0000000000\" was created by another program";
      assertSays(
          LockConfigurationException.class, message, () -> client.lock("mixed").tryAcquire());
      assertSays(LockConfigurationException.class, message, () -> client.lock("mixed").acquire());
      assertSays(LockConfigurationException.class, message, () -> client.admin().inspect("mixed"));
      assertSays(
          LockConfigurationException.class, message, () -> client.admin().forceRelease("mixed"));
    }
    assertEquals(1, operator.getChildren().forPath("/interlock/mixed").size());
  }

  @Test
  void aForeignEphemeralNodeInPlaceOfALockIsRefused() throws Exception {
    operator
        .create()
        .creatingParentsIfNeeded()
        .withMode(CreateMode.EPHEMERAL)
        .forPath("/interlock/taken", "mine".getBytes(UTF_8));
    try (LockClient client = Backends.client(server)) {
      assertSays(
          LockConfigurationException.class,
          "the node at /interlock/taken is ephemeral",
          () -> client.lock("taken").acquire());
    }
  }

  @Test
  void aSessionTooShortForItsTicksIsRefused() {
    ZooKeeperSettings slow =
        ZooKeeperSettings.builder().tickTime(Backends.TTL.dividedBy(3)).build();
    try (CuratorFramework curator = Backends.curator(server.connectString())) {
      assertSays(
          LockConfigurationException.class,
          "ms, and locks need at least four ticks",
          () -> ZooKeeperLocks.using(curator, slow, Backends.OPTIONS));
    }
  }

  /** The two cases share an ensemble, because three servers take long to start. */
  @Test
  void localSessionsAreRefusedAndAServerWithoutAQuorumSaysItIsReadOnly() throws Exception {
    try (ZooKeeperEnsemble ensemble =
        Testbed.zookeeper()
            .withoutSync()
            .members(3)
            .tick(Backends.TICK)
            .jvmFlags("-Dreadonlymode.enabled=true")
            .config(
                // Without them a read-only server admits no client.
                "localSessionsEnabled=true",
                "localSessionsUpgradingEnabled=false",
                // A member that stalls must not leave the quorum: its local sessions would end.
                "syncLimit=300")
            .start()) {
      try (LockClient client = Backends.client(ensemble)) {
        assertSays(
            LockConfigurationException.class,
            "set localSessionsUpgradingEnabled",
            () -> client.lock("job").tryAcquire());
      }

      List<ZooKeeperServer> members = ensemble.members();
      members.get(1).kill();
      members.get(2).kill();
      Eventually.holds(
          "it has lost the others",
          () -> {
            String said = said(members.get(0));
            return !said.isEmpty()
                && !said.contains("Mode: follower")
                && !said.contains("Mode: leader");
          });
      assertSays(
          LockUnavailableException.class,
          "is a ZooKeeper with a quorum running there?",
          () -> LockClient.open("zookeeper://127.0.0.1:" + members.get(0).port()));

      Eventually.holds("it only reads", () -> said(members.get(0)).contains("Mode: read-only"));
      try (CuratorFramework reader =
          CuratorFrameworkFactory.builder()
              .connectString("127.0.0.1:" + members.get(0).port())
              .sessionTimeoutMs(Math.toIntExact(Backends.TTL.toMillis()))
              .retryPolicy((count, elapsed, sleeper) -> false)
              .zkClientConfig(Backends.withoutSasl())
              .canBeReadOnly(true)
              .build()) {
        reader.start();
        Eventually.holds("it reads", () -> reader.getZookeeperClient().isConnected());
        try (LockClient client =
            ZooKeeperLocks.using(reader, Backends.SETTINGS, Backends.OPTIONS)) {
          String message = "is read-only: the server has lost its quorum";
          Class<LockUnavailableException> passing = LockUnavailableException.class;
          Duration wait = Duration.ofMillis(500);
          assertSoonSays(passing, message, () -> client.lock("job").tryAcquire());
          // The driver keeps reconnecting to find a server that accepts writes, and may do so at
          // this moment.
          failureOf(passing, () -> client.lock("job").tryAcquire(wait));
          assertSoonSays(passing, message, () -> client.admin().inspect("job"));
        }
      }
    }
  }

  /** The server's description of itself; empty while it restarts its election. */
  private static String said(ZooKeeperServer server) {
    try {
      return server.ask("srvr");
    } catch (IOException e) {
      return "";
    }
  }

  /** Repeats the call after other failures: a server that looks for a quorum drops connections. */
  private static void assertSoonSays(
      Class<? extends LockException> type, String message, Executable attempt) throws Exception {
    Eventually.holds(message, () -> failureOf(type, attempt).getMessage().contains(message));
  }

  private static void assertSays(
      Class<? extends LockException> type, String message, Executable attempt) {
    LockException e = failureOf(type, attempt);
    assertTrue(e.getMessage().contains(message), e::getMessage);
  }

  private static LockException failureOf(Class<? extends LockException> type, Executable attempt) {
    long start = System.nanoTime();
    LockException e = assertThrows(type, attempt);
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(took.compareTo(LIMIT) < 0, () -> "it took " + took);
    return e;
  }
}
