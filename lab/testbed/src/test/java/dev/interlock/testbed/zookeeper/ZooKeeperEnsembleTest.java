package dev.interlock.testbed.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class ZooKeeperEnsembleTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();
  @AutoClose private static @Nullable ZooKeeperEnsemble alone;
  @AutoClose private static @Nullable ZooKeeperEnsemble separable;

  private static ZooKeeperEnsemble start(int members) {
    return Testbed.zookeeper().using(ServerSource.EMBEDDED).members(members).start();
  }

  /** The server of all tests that leave it running. */
  private static ZooKeeperEnsemble alone() {
    if (alone == null) {
      alone = start(1);
    }
    return alone;
  }

  /** The ensemble of three separable servers of all tests that leave it running. */
  private static ZooKeeperEnsemble separable() {
    if (separable == null) {
      separable = Testbed.zookeeper().using(ServerSource.EMBEDDED).members(3).separable().start();
    }
    return separable;
  }

  @Test
  void aSingleServerServesAndLeadsItself() {
    ZooKeeperEnsemble zookeeper = alone();
    ZooKeeperServer server = zookeeper.members().get(0);
    assertEquals("zookeeper://127.0.0.1:" + server.port(), zookeeper.uri());
    assertEquals("127.0.0.1:" + server.port(), zookeeper.connectString());
    assertEquals(List.of(server), zookeeper.leaders());
    assertTrue(zookeeper.version().startsWith("3."), zookeeper.version());
    assertFalse(zookeeper.canChangeLeader());
  }

  @Test
  void aSessionIsEndedBehindItsClientsBack() throws Exception {
    ZooKeeperEnsemble zookeeper = alone();
    assertEquals(Optional.empty(), zookeeper.endSession(0));
    CountDownLatch expired = new CountDownLatch(1);
    ZooKeeper client =
        new ZooKeeper(
            zookeeper.connectString(),
            30_000,
            event -> {
              if (event.getState() == Watcher.Event.KeeperState.Expired) {
                expired.countDown();
              }
            });
    try {
      client.create("/job", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
      assertEquals(Optional.of(Long.toHexString(client.getSessionId())), zookeeper.endSession(3));
      assertTrue(expired.await(30, TimeUnit.SECONDS), "its client was not told");
      assertEquals(Optional.empty(), zookeeper.endSession(0));
    } finally {
      client.close();
    }
  }

  @Test
  void aSingleServerCanBePausedKilledAndRestarted() throws IOException {
    ZooKeeperEnsemble zookeeper = alone();
    ZooKeeperServer server = zookeeper.members().get(0);
    server.pause();
    assertFalse(server.answers(Duration.ofMillis(200)));
    server.resume();
    assertEquals("imok", server.ask("ruok"));
    server.kill();
    assertThrows(ConnectException.class, () -> server.ask("ruok"));
    server.restart();
    zookeeper.heal();
    assertEquals(server, zookeeper.leader());
  }

  @Test
  void theEnsembleReplacesAKilledLeaderAndTakesItBack() throws IOException {
    ZooKeeperEnsemble zookeeper = separable();
    ZooKeeperServer lost = zookeeper.leader();
    assertEquals(2, zookeeper.followers().size());
    lost.kill();
    ZooKeeperServer successor = zookeeper.awaitLeaderOtherThan(lost);
    assertNotEquals(lost, successor);
    zookeeper.heal();
    assertEquals("follower", lost.mode());
  }

  @Test
  void aLeaderThatIsCutOffIsReplacedAndFollowsWhenItIsReconnected() throws IOException {
    ZooKeeperEnsemble zookeeper = separable();
    assertTrue(zookeeper.canCutOff());
    ZooKeeperServer lost = zookeeper.leader();
    zookeeper.cutOff(lost);
    assertServesNobody(lost);
    assertNotEquals(lost, zookeeper.awaitLeaderOtherThan(lost));
    // it still runs, but cannot reach the others
    assertServesNobody(lost);
    zookeeper.heal();
    assertEquals("follower", lost.mode());
  }

  @Test
  @Tag("extended")
  void aFollowerThatIsCutOffLeavesALeaderThatGoesOn() throws IOException {
    ZooKeeperEnsemble zookeeper = separable();
    ZooKeeperServer leader = zookeeper.leader();
    ZooKeeperServer lost = zookeeper.followers().get(0);
    zookeeper.cutOff(lost);
    assertServesNobody(lost);
    assertEquals("leader", leader.mode());
    zookeeper.heal();
    assertTrue(List.of("follower", "leader").contains(lost.mode()));
  }

  /** Tolerates that a leader does not answer while it steps down. */
  private static void assertServesNobody(ZooKeeperServer server) {
    assertTrue(Waiting.until(Duration.ofSeconds(60), () -> server.mode().isEmpty()));
  }

  @Test
  @Tag("extended")
  void theEnsembleReplacesAPausedLeader() {
    try (ZooKeeperEnsemble zookeeper = start(3)) {
      ZooKeeperServer lost = zookeeper.leader();
      lost.pause();
      ZooKeeperServer successor = zookeeper.awaitLeaderOtherThan(lost);
      zookeeper.heal();
      assertEquals(successor, zookeeper.leader());
    }
  }

  @Test
  @Tag("extended")
  void withoutAQuorumNobodyLeads() throws IOException {
    try (ZooKeeperEnsemble zookeeper = start(3)) {
      zookeeper.members().get(0).kill();
      zookeeper.members().get(1).kill();
      ZooKeeperServer isolated = zookeeper.members().get(2);
      assertTrue(Waiting.until(Duration.ofSeconds(30), () -> isolated.mode().isEmpty()));
      assertTrue(isolated.answers(Duration.ofSeconds(5)));
      zookeeper.heal();
      assertEquals(3, zookeeper.followers().size() + 1);
    }
  }

  @Test
  @Tag("extended")
  void aMemberThatLostItsDataJoinsAgain() throws IOException {
    try (ZooKeeperEnsemble zookeeper = start(3)) {
      ZooKeeperServer follower = zookeeper.followers().get(0);
      follower.restartEmpty();
      zookeeper.heal();
      assertEquals("follower", follower.mode());
    }
  }

  @Test
  void aServerThatCannotStartTellsWhatItWrote() {
    NoServerException e =
        assertThrows(
            NoServerException.class,
            () ->
                Testbed.zookeeper().using(ServerSource.EMBEDDED).config("initLimit=many").start());
    assertTrue(e.getMessage().contains("NumberFormatException"), e.getMessage());
  }

  @Test
  void theStartScriptOfADistributionIsRunInTheForeground(@TempDir Path directory)
      throws IOException {
    // Replaces a distribution's script: it has the same command line, and becomes the server.
    Path script = directory.resolve("zkServer.sh");
    Files.writeString(
        script,
        """
        #!/bin/sh
        [ "$1 $3" = "--config start-foreground" ] || exit 64
        exec '%s/bin/java' -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '%s' \\
          org.apache.zookeeper.server.quorum.QuorumPeerMain "$2/zoo.cfg"
        """
            .formatted(System.getProperty("java.home"), System.getProperty("java.class.path")));
    assertTrue(script.toFile().setExecutable(true));
    System.setProperty("interlock.zookeeper.binary", script.toString());
    try (ZooKeeperEnsemble zookeeper = Testbed.zookeeper().using(ServerSource.BINARY).start()) {
      assertEquals("binary " + script, zookeeper.source());
      ZooKeeperServer server = zookeeper.leader();
      server.pause();
      assertFalse(server.answers(Duration.ofMillis(200)));
      server.kill();
      zookeeper.heal();
    } finally {
      System.clearProperty("interlock.zookeeper.binary");
    }
  }
}
