package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A user's password is changed in the steps of docs/operating.md while locks are in use. */
class PasswordTest {

  @AutoClose private static ZooKeeperEnsemble server;

  @BeforeAll
  static void start() {
    server = Backends.server();
  }

  @Test
  void aPasswordChangesWhereClientsCreatedTheNamespace() throws Exception {
    try (ZkCli root = new ZkCli(server.connectString())) {
      root.execute(List.of("create /free"));
    }
    change("/free", true);
  }

  @Test
  void aPasswordChangesWhereAnAdministratorCreatedTheNamespace() throws Exception {
    try (ZkCli admin = new ZkCli(server.connectString())) {
      admin.execute(
          List.of(
              "addauth digest admin:secret",
              "create /given",
              "create /given/interlock",
              "setAcl /given/interlock auth::cdrwa,digest:"
                  + DigestAuthenticationProvider.generateDigest("app:first")
                  + ":cr,digest:"
                  + DigestAuthenticationProvider.generateDigest("app:second")
                  + ":cr",
              "setAcl /given ip:192.0.2.1:cdrwa"));
    }
    change("/given", false);
  }

  /**
   * Running clients read the file again, remain the former user, and become the new one as well.
   */
  @Test
  void aPasswordFileIsReadAgainForEachConnection(@TempDir Path directory) throws Exception {
    try (ZkCli root = new ZkCli(server.connectString())) {
      root.execute(List.of("create /file"));
    }
    Path file = Files.writeString(directory.resolve("password"), "first\n");
    String uri = fileUri(file, "/file");
    try (LockClient one = LockClient.open(uri);
        LockClient two = LockClient.open(uri)) {
      Lease lease = one.lock("old").acquire();
      CompletableFuture<Lease> waiting = two.lock("old").acquireAsync();
      Eventually.holds("it waits", () -> one.admin().inspect("old").waiters().size() == 1);
      Files.writeString(file, "second\n");
      server.members().get(0).kill();
      server.members().get(0).restart();
      Eventually.holds("renewed", () -> isRenewed(lease));
      Eventually.holds("connected", () -> two.admin().inspect("old").isHeld());
      List<String> lines =
          ZkCli.documented("procedure: zookeeper password").stream()
              .map(line -> line.replace("OLD", "first").replace("NEW", "second"))
              .toList();
      type(lines, "/file");
      type(lines.subList(1, lines.size()), "/file");
      try (LockClient late = LockClient.open(uri);
          LockClient stranger = LockClient.open(uri("first", "/file", ""))) {
        assertTrue(late.lock("old").tryAcquire().isEmpty());
        assertThrows(LockConfigurationException.class, () -> stranger.lock("old").tryAcquire());
        lease.renew();
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        assertEquals(ReleaseOutcome.RELEASED, waiting.get(60, TimeUnit.SECONDS).release());
        requireTogether("old", one, late);
        requireTogether("new", late, two);
      }
    }
  }

  @Test
  void aPasswordFileIsReadAgainAfterARefusal(@TempDir Path directory) throws Exception {
    try (ZkCli root = new ZkCli(server.connectString())) {
      root.execute(List.of("create /refusal"));
    }
    Path file = Files.writeString(directory.resolve("password"), "first\n");
    try (LockClient early = LockClient.open(fileUri(file, "/refusal"));
        LockClient late = LockClient.open(uri("second", "/refusal", ""))) {
      early.lock("job").acquire().release();
      Lease lease = late.lock("another").acquire();
      assertThrows(LockConfigurationException.class, () -> early.lock("another").tryAcquire());
      Files.writeString(file, "second\n");
      assertThrows(LockUnavailableException.class, () -> early.lock("another").tryAcquire());
      assertTrue(early.lock("another").tryAcquire().isEmpty());
      lease.release();
      early.lock("another").acquire().release();
    }
  }

  private static String fileUri(Path file, String chroot) {
    return "zookeeper://app@"
        + server.connectString()
        + chroot
        + "?tickTime=200ms&requestTimeout=10s&passwordFile="
        + file;
  }

  private static boolean isRenewed(Lease lease) throws InterruptedException {
    try {
      lease.renew();
      return true;
    } catch (LockUnavailableException e) {
      return false;
    }
  }

  private void change(String chroot, boolean madeByClients) throws Exception {
    String before = uri("first", chroot, "");
    String between = uri("first", chroot, "&otherPassword=second");
    String after = uri("second", chroot, "");
    try (LockClient old = LockClient.open(before);
        LockClient both = LockClient.open(between)) {
      old.lock("unused").acquire().release();
      requireTogether("old", old, both);
      requireTogether("new", both, old);
      try (LockClient early = LockClient.open(after)) {
        assertThrows(LockConfigurationException.class, () -> early.lock("old").tryAcquire());
      }
    }
    try (LockClient one = LockClient.open(between);
        LockClient two = LockClient.open(between)) {
      Lease lease = one.lock("old").acquire();
      CompletableFuture<Lease> waiting = two.lock("old").acquireAsync();
      Eventually.holds("it waits", () -> one.admin().inspect("old").waiters().size() == 1);
      List<String> lines =
          ZkCli.documented("procedure: zookeeper password").stream()
              .map(line -> line.replace("OLD", "first").replace("NEW", "second"))
              .toList();
      List<String> step = madeByClients ? lines : lines.subList(0, lines.size() - 1);
      type(step, chroot);
      try (LockClient three = LockClient.open(after)) {
        assertTrue(three.lock("old").tryAcquire().isEmpty());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        assertEquals(ReleaseOutcome.RELEASED, waiting.get(60, TimeUnit.SECONDS).release());
        requireTogether("old", one, three);
        requireTogether("new", three, one);
        requireTogether("unused", three, one);
        requireTogether("newest", two, three);
      }
      type(step.subList(1, step.size()), chroot);
    }
    try (LockClient last = LockClient.open(after);
        LockClient stranger = LockClient.open(before)) {
      last.lock("old").acquire().release();
      assertThrows(LockConfigurationException.class, () -> stranger.lock("old").tryAcquire());
      assertThrows(LockConfigurationException.class, () -> stranger.lock("new").tryAcquire());
    }
  }

  private static void type(List<String> lines, String chroot) throws Exception {
    try (ZkCli cli = new ZkCli(server.connectString() + chroot)) {
      cli.execute(lines);
    }
  }

  /** Two clients share a lock that may be new to the server. */
  private static void requireTogether(String name, LockClient one, LockClient two)
      throws Exception {
    Lease heldLease = one.lock(name).acquire();
    assertTrue(two.lock(name).tryAcquire().isEmpty());
    CompletableFuture<Lease> waiting = two.lock(name).acquireAsync();
    Eventually.holds("it waits", () -> one.admin().inspect(name).waiters().size() == 1);
    heldLease.renew();
    assertEquals(ReleaseOutcome.RELEASED, heldLease.release());
    assertEquals(ReleaseOutcome.RELEASED, waiting.get(60, TimeUnit.SECONDS).release());
  }

  private static String uri(String password, String chroot, String more) {
    return "zookeeper://app:"
        + password
        + "@"
        + server.connectString()
        + chroot
        + "?tickTime=200ms&requestTimeout=10s"
        + more;
  }
}
