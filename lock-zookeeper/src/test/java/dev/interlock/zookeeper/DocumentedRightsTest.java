package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The documented rights are enough, and each of them is needed. */
class DocumentedRightsTest {

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static ZkCli root;
  private static int places;

  @BeforeAll
  static void start() {
    server = Backends.server();
    root = new ZkCli(server.connectString());
  }

  @Test
  void theDocumentedRightsAreEnough() throws Exception {
    String place = place(DocumentedRights.onNamespace(), DocumentedRights.onLock("given"));
    use(place, "given");
    use(place, "made");
  }

  @Test
  void createIsNeededOnTheNamespacesNode() throws Exception {
    String place = place(without("c", DocumentedRights.onNamespace()), List.of());
    assertThrows(LockConfigurationException.class, () -> use(place, "made"));
  }

  @Test
  void readIsNeededOnTheNamespacesNodeToListLocks() throws Exception {
    String place = place(without("r", DocumentedRights.onNamespace()), List.of());
    try (LockClient client = open(place);
        Lease lease = client.lock("made").acquire()) {
      assertTrue(client.admin().inspect("made").isHeld());
      LockConfigurationException refusal =
          assertThrows(LockConfigurationException.class, () -> client.admin().list("").toList());
      assertTrue(refusal.getMessage().contains("/interlock (create, read"), refusal::getMessage);
      lease.renew();
    }
  }

  @Test
  void theDocumentedRightsAllowTheCleanupOnAProgramsFramework() throws Exception {
    String place = place(DocumentedRights.onNamespace(), List.of());
    try (CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(server.connectString() + place)
            .authorization("digest", DocumentedRights.LOGIN.getBytes(UTF_8))
            .aclProvider(new PrivateAccess())
            .retryPolicy((count, elapsed, sleeper) -> false)
            .zkClientConfig(Backends.withoutSasl())
            .build()) {
      curator.start();
      try (ZooKeeperBackend backend = Backends.on(curator)) {
        Claim left = Backends.claim("left");
        Backends.take(backend, left);
        QueueNode node = (QueueNode) left.attachment();
        String prefix = LockPaths.nodePrefix("/interlock", left);
        CountDownLatch done = new CountDownLatch(1);
        ZooKeeper driver = curator.getZookeeperClient().getZooKeeper();
        new OrphanCleanup(driver, new DelayedTasks("test"), prefix, done::countDown).start();
        assertTrue(done.await(60, TimeUnit.SECONDS));
        assertNull(curator.checkExists().forPath(node.path()));
      }
    }
  }

  private static final class PrivateAccess implements ACLProvider {
    @Override
    public List<ACL> getDefaultAcl() {
      return Ids.CREATOR_ALL_ACL;
    }

    @Override
    public List<ACL> getAclForPath(String path) {
      return Ids.CREATOR_ALL_ACL;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"c", "r", "d"})
  void eachIsNeededOnTheNodeOfALock(String right) throws Exception {
    String place =
        place(DocumentedRights.onNamespace(), without(right, DocumentedRights.onLock("given")));
    if (right.equals("d")) {
      try (LockClient client = open(place)) {
        assertEquals(ReleaseOutcome.UNKNOWN, client.lock("given").acquire().release());
      }
    } else {
      assertThrows(LockConfigurationException.class, () -> use(place, "given"));
    }
  }

  private static List<String> without(String right, List<String> lines) {
    List<String> less = new ArrayList<>(lines);
    less.replaceAll(
        line -> {
          int rights = line.lastIndexOf(':') + 1;
          return line.startsWith("setAcl ")
              ? line.substring(0, rights) + line.substring(rights).replace(right, "")
              : line;
        });
    return less;
  }

  /** A new chroot, on whose node the user has no rights. */
  private static String place(List<String> onNamespace, List<String> onLock) throws Exception {
    String place = "/place-" + ++places;
    root.execute(List.of("create " + place));
    DocumentedRights.grant(server.connectString() + place, onNamespace);
    DocumentedRights.grant(server.connectString() + place, onLock);
    root.execute(List.of("setAcl " + place + " ip:192.0.2.1:cdrwa"));
    return place;
  }

  private static LockClient open(String place) {
    return LockClient.open(
        "zookeeper://"
            + DocumentedRights.USER_INFO
            + server.connectString()
            + place
            + "?tickTime=200ms&requestTimeout=10s");
  }

  /** Uses a lock in every way that the API offers. */
  private static void use(String place, String name) throws Exception {
    try (LockClient one = open(place);
        LockClient two = open(place)) {
      Lease lease = one.lock(name).acquire();
      assertTrue(two.lock(name).tryAcquire().isEmpty());
      CompletableFuture<Lease> waiting = two.lock(name).acquireAsync();
      Eventually.holds("it waits", () -> one.admin().inspect(name).waiters().size() == 1);
      lease.renew();
      assertEquals(
          List.of(lease.fencingToken()),
          two.admin().list(name).map(state -> state.fencingToken().orElseThrow()).toList());
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
      Lease next = waiting.get(60, TimeUnit.SECONDS);
      assertTrue(one.admin().forceRelease(name));
      assertThrows(LeaseLostException.class, next::renew);
      assertEquals(ReleaseOutcome.RELEASED, one.lock(name).acquire().release());
    }
  }
}
