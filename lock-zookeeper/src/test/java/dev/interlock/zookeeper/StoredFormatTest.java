package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients in a namespace that another version has used. */
class StoredFormatTest {

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;
  private static int namespaces;

  @BeforeAll
  static void start() {
    server = Backends.server();
    observer = Backends.curator(server.connectString());
  }

  @Test
  void aNewNamespaceIsMarked() throws Exception {
    String namespace = "format-" + ++namespaces;
    try (ZooKeeperBackend backend = open(namespace)) {
      Backends.take(backend, Backends.claim("job"));
      assertEquals("interlock-format=1", data(namespace));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "127.0.0.1", "interlock-format=1"})
  void aNamespaceOfVersion01OrOfAnAdministratorIsUsed(String data) throws Exception {
    String namespace = "format-" + ++namespaces;
    observer.create().forPath("/" + namespace, data.getBytes(UTF_8));
    try (ZooKeeperBackend backend = open(namespace)) {
      Backends.take(backend, Backends.claim("job"));
      assertEquals(data, data(namespace));
    }
  }

  @Test
  void anUnknownFormatIsRefusedWhenAClientOpens() throws Exception {
    String namespace = "format-" + ++namespaces;
    observer.create().forPath("/" + namespace, "interlock-format=2".getBytes(UTF_8));
    assertRefused(namespace, assertThrows(LockConfigurationException.class, () -> open(namespace)));
  }

  /** A client of another version creates the node of the namespace before this client needs it. */
  @Test
  void anUnknownFormatIsRefusedWhenItAppearsLater() throws Exception {
    String namespace = "format-" + ++namespaces;
    try (ZooKeeperBackend backend = open(namespace)) {
      observer.create().forPath("/" + namespace, "interlock-format=2".getBytes(UTF_8));
      assertRefused(
          namespace,
          assertThrows(
              LockConfigurationException.class,
              () -> backend.tryAcquire(Backends.claim("job"), Backends.soon())));
      assertEquals(List.of(), observer.getChildren().forPath("/" + namespace));
    }
  }

  @Test
  void anUnknownFormatIsRefusedOnANewSession() throws Exception {
    String namespace = "format-" + ++namespaces;
    try (CuratorFramework curator = Backends.curator(server.connectString())) {
      ZooKeeperSettings settings =
          ZooKeeperSettings.builder().namespace(namespace).tickTime(Backends.TICK).build();
      try (var backend =
          (ZooKeeperBackend)
              ZooKeeperLocks.backend(curator, settings, Backends.context(Backends.OPTIONS))) {
        Backends.take(backend, Backends.claim("before"));
        observer.setData().forPath("/" + namespace, "interlock-format=2".getBytes(UTF_8));
        long before = curator.getZookeeperClient().getZooKeeper().getSessionId();
        Backends.expire(curator, server.connectString());
        Eventually.holds(
            "another session",
            () -> curator.getZookeeperClient().getZooKeeper().getSessionId() != before);
        assertTrue(curator.blockUntilConnected(60, SECONDS));
        assertRefused(
            namespace,
            assertThrows(
                LockConfigurationException.class,
                () -> backend.tryAcquire(Backends.claim("after"), Backends.soon())));
        assertEquals(0, observer.getChildren().forPath("/" + namespace + "/before").size());
      }
    }
  }

  private static void assertRefused(String namespace, LockConfigurationException refusal) {
    assertTrue(
        refusal
            .getMessage()
            .contains(
                "locks below /"
                    + namespace
                    + " are stored in a format that this version of Interlock does not know"
                    + " (interlock-format=2)"),
        refusal::getMessage);
  }

  private static ZooKeeperBackend open(String namespace) {
    return Backends.open(Backends.uri(server) + "&namespace=" + namespace);
  }

  private static String data(String namespace) throws Exception {
    return new String(observer.getData().forPath("/" + namespace), UTF_8);
  }
}
