package dev.interlock.testbed.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.server.TlsTrust;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class EtcdClusterTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();
  private static final String KEY = "{\"key\":\"Zm9v\"}";
  private static final String KEY_AND_VALUE = "{\"key\":\"Zm9v\",\"value\":\"YmFy\"}";

  private static EtcdCluster start(int members) {
    return Testbed.etcd().using(ServerSource.BINARY).members(members).start();
  }

  private static Optional<String> value(EtcdServer server) throws IOException {
    return EtcdEndpoint.field(server.call("/v3/kv/range", KEY), "value");
  }

  @Test
  void aSingleServerServesAndKeepsItsDataThroughAKill() throws IOException {
    try (EtcdCluster etcd = start(1)) {
      EtcdServer server = etcd.members().get(0);
      assertEquals("etcd://127.0.0.1:" + server.port(), etcd.uri());
      assertEquals(List.of(server), etcd.leaders());
      assertFalse(etcd.canChangeLeader());
      server.call("/v3/kv/put", KEY_AND_VALUE);
      server.kill();
      assertThrows(ConnectException.class, () -> server.call("/v3/kv/range", KEY));
      etcd.heal();
      assertEquals(Optional.of("YmFy"), value(server));
    }
  }

  @Test
  void aSingleServerCanBePausedAndEmptied() throws IOException {
    try (EtcdCluster etcd = start(1)) {
      EtcdServer server = etcd.members().get(0);
      server.call("/v3/kv/put", KEY_AND_VALUE);
      server.pause();
      assertFalse(server.answers(Duration.ofMillis(200)));
      server.resume();
      assertEquals(Optional.of("YmFy"), value(server));
      server.restartEmpty();
      etcd.heal();
      assertEquals(Optional.empty(), value(server));
    }
  }

  @Test
  void theClusterReplacesAKilledLeaderAndTakesItBack() throws Exception {
    try (EtcdCluster etcd = start(3)) {
      EtcdServer lost = etcd.leader();
      assertEquals(2, etcd.followers().size());
      lost.kill();
      EtcdServer successor = etcd.awaitLeaderOtherThan(lost);
      assertNotEquals(lost, successor);
      etcd.heal();
      assertAllFollowOne(etcd);
    }
  }

  @Test
  void aLeaderThatIsCutOffIsReplacedAndFollowsWhenItIsReconnected() throws Exception {
    try (EtcdCluster etcd =
        Testbed.etcd()
            .using(ServerSource.BINARY)
            .members(3)
            .separable()
            .electionTimeout(Duration.ofMillis(300))
            .start()) {
      assertTrue(etcd.canCutOff());
      EtcdServer lost = etcd.leader();
      etcd.cutOff(lost);
      Eventually.holds("it leads nobody", () -> lost.status().leader().equals("none"));
      EtcdServer successor = etcd.awaitLeaderOtherThan(lost);
      successor.call("/v3/kv/put", KEY_AND_VALUE);
      // it still runs, but cannot reach the others
      assertTrue(lost.answers(Duration.ofSeconds(30)));
      assertTrue(lost.status().leader().equals("none"));
      etcd.heal();
      assertAllFollowOne(etcd);
      assertEquals(Optional.of("YmFy"), value(lost));
    }
  }

  @Test
  void membersThatAreNotSeparableCannotBeCutOff() {
    try (EtcdCluster etcd = start(1)) {
      assertFalse(etcd.canCutOff());
      assertThrows(UnsupportedOperationException.class, () -> etcd.cutOff(etcd.members().get(0)));
    }
  }

  @Test
  @Tag("extended")
  void theClusterReplacesAPausedLeader() throws Exception {
    try (EtcdCluster etcd = start(3)) {
      EtcdServer lost = etcd.leader();
      lost.pause();
      EtcdServer successor = etcd.awaitLeaderOtherThan(lost);
      etcd.heal();
      assertNotEquals(lost, successor);
      assertAllFollowOne(etcd);
    }
  }

  /** Checks whichever leader there is, since a returning member may cause an election. */
  private static void assertAllFollowOne(EtcdCluster etcd) throws Exception {
    Eventually.holds(
        "all members follow one leader",
        () -> {
          String leader = etcd.leader().status().member();
          for (EtcdServer member : etcd.members()) {
            if (!member.status().leader().equals(leader)) {
              return false;
            }
          }
          return true;
        });
  }

  @Test
  void aSessionIsEndedBehindItsClientsBack() throws IOException {
    try (EtcdCluster cluster = start(1)) {
      assertEquals(Optional.empty(), cluster.endSession(0));
      EtcdServer server = cluster.leader();
      server.call("/v3/lease/grant", "{\"ID\":\"42\",\"TTL\":\"3600\"}");
      assertEquals(Optional.of("42"), cluster.endSession(7));
      assertEquals(Optional.empty(), cluster.endSession(0));
    }
  }

  @Test
  void theLeadIsHandedOverOnDemand() {
    try (EtcdCluster etcd = start(3)) {
      EtcdServer old = etcd.leader();
      etcd.changeLeader();
      assertNotEquals(old, etcd.leader());
    }
  }

  @Test
  @Tag("extended")
  void membersThatWereAllKilledComeBackOneAfterTheOther() throws IOException {
    try (EtcdCluster etcd = start(3)) {
      etcd.leader().call("/v3/kv/put", KEY_AND_VALUE);
      etcd.members().forEach(DisposableServer::kill);
      etcd.heal();
      for (EtcdServer member : etcd.members()) {
        assertEquals(Optional.of("YmFy"), value(member));
      }
    }
  }

  @Test
  void aMemberThatLostItsDataJoinsAnewAndGetsItAgain() throws IOException {
    try (EtcdCluster etcd = start(3)) {
      etcd.leader().call("/v3/kv/put", KEY_AND_VALUE);
      EtcdServer member = etcd.followers().get(0);
      String identity = member.status().member();
      member.restartEmpty();
      etcd.heal();
      assertNotEquals(identity, member.status().member());
      assertEquals(Optional.of("YmFy"), value(member));
    }
  }

  @Test
  void aServerThatCannotStartTellsWhatItWrote() {
    NoServerException e =
        assertThrows(
            NoServerException.class,
            () -> Testbed.etcd().using(ServerSource.BINARY).config("max-wals: many").start());
    assertTrue(e.getMessage().contains("max-wals"), e.getMessage());
  }

  @Test
  void aClusterWithTlsAndAPasswordServesThoseWhoHaveBoth() throws IOException {
    try (EtcdCluster etcd =
        Testbed.etcd().using(ServerSource.BINARY).members(3).tls().password("se\"cret").start()) {
      assertTrue(etcd.uri().startsWith("etcds://root:se%22cret@127.0.0.1:"), etcd.toString());
      assertFalse(etcd.toString().contains("cret"));
      EtcdServer server = etcd.members().get(0);
      server.call("/v3/kv/put", KEY_AND_VALUE);
      assertEquals(Optional.of("YmFy"), value(server));
      EtcdEndpoint stranger =
          new EtcdEndpoint(
              "https://127.0.0.1:" + server.port(),
              TlsTrust.in(etcd.caCertificate().orElseThrow()),
              null);
      IOException refused =
          assertThrows(IOException.class, () -> stranger.call("/v3/kv/range", KEY));
      assertTrue(refused.getMessage().contains("user name is empty"), refused.getMessage());
      etcd.changeLeader();
      etcd.members().get(1).restartEmpty();
      etcd.heal();
      assertEquals(Optional.of("YmFy"), value(etcd.members().get(1)));
    }
  }
}
