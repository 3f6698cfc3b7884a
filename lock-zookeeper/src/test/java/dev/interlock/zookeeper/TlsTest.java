package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.TlsIdentity;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Encrypted connections with certificates that both sides check, ZooKeeper's default. */
@Execution(ExecutionMode.CONCURRENT)
class TlsTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @TempDir static Path directory;

  private static TlsIdentity signed;
  private static TlsIdentity stranger;
  @AutoClose private static ZooKeeperEnsemble server;
  private static int port;

  @BeforeAll
  static void start() throws Exception {
    signed = TlsIdentity.forSubject(directory, "ip:127.0.0.1,dns:localhost");
    stranger = TlsIdentity.forSubject(directory, "ip:127.0.0.1,dns:localhost");
    joinKeyAndCertificate(signed);
    joinKeyAndCertificate(stranger);
    port = Testbed.freePort();
    server = server(port);
  }

  private static ZooKeeperEnsemble server(int securePort) {
    return server(securePort, keyAndCertificate(signed), signed.certificate());
  }

  private static ZooKeeperEnsemble server(int securePort, Path own, Path trusted) {
    return Backends.server(
        "secureClientPort=" + securePort,
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location=" + own,
        "ssl.keyStore.type=PEM",
        "ssl.trustStore.location=" + trusted,
        "ssl.trustStore.type=PEM",
        "ssl.hostnameVerification=false");
  }

  @Test
  void locksAreServedOverTlsBetweenThoseWhoTrustEachOther() throws Exception {
    try (LockClient holder = LockClient.open(uri(signed, signed));
        LockClient waiter = LockClient.open(uri(signed, signed))) {
      Lease lease = holder.lock("job").acquire();
      var waiting = waiter.lock("job").acquireAsync();
      Eventually.holds("it waits", () -> holder.admin().inspect("job").waiters().size() == 1);
      lease.release();
      Lease next = waiting.get();
      assertTrue(next.fencingToken() > lease.fencingToken());
      next.release();
      assertEquals(List.of(), holder.admin().inspect("job").waiters());
    }
  }

  @Test
  void theLocksOfAClientWithACertificateAreForThatClient() throws Exception {
    try (LockClient own = LockClient.open(uri(signed, signed) + "&namespace=own");
        LockClient stranger = LockClient.open(Backends.uri(server) + "&namespace=own")) {
      Lease lease = own.lock("job").acquire();
      LockConfigurationException refused =
          assertThrows(LockConfigurationException.class, () -> stranger.lock("job").tryAcquire());
      assertTrue(refused.getMessage().contains("does not grant this client"), refused::getMessage);
      assertThrows(LockConfigurationException.class, () -> stranger.admin().forceRelease("job"));
      lease.release();
      stranger.lock("another").acquire().release();
    }
  }

  @Test
  void locksAreForAnyoneWithAccessAnyone() throws Exception {
    try (LockClient own = LockClient.open(uri(signed, signed) + "&namespace=any&access=anyone");
        LockClient stranger = LockClient.open(Backends.uri(server) + "&namespace=any")) {
      Lease lease = own.lock("job").acquire();
      assertTrue(stranger.lock("job").tryAcquire().isEmpty());
      lease.release();
      stranger.lock("job").acquire().release();
    }
  }

  /** System properties give the JVM one certificate for all ZooKeeper connections. */
  @Test
  void theDriversOwnCertificateMayBeUsed() throws Exception {
    Map<String, String> properties =
        Map.of(
            "zookeeper.ssl.keyStore.location",
            keyAndCertificate(signed).toString(),
            "zookeeper.ssl.keyStore.type",
            "PEM");
    properties.forEach(System::setProperty);
    try {
      String uri = uri(signed, signed, port).replaceAll("&clientCert=.*", "&namespace=driver");
      try (LockClient own = LockClient.open(uri);
          LockClient stranger = LockClient.open(Backends.uri(server) + "&namespace=driver")) {
        Lease lease = own.lock("job").acquire();
        assertThrows(LockConfigurationException.class, () -> stranger.admin().forceRelease("job"));
        lease.release();
      }
    } finally {
      properties.keySet().forEach(System::clearProperty);
    }
  }

  @Test
  @Tag("extended")
  void aHolderAndAWaiterSurviveARestartOfTheServer() throws Exception {
    int securePort = Testbed.freePort();
    LockOptions options = Backends.OPTIONS.toBuilder().ttl(Duration.ofSeconds(60)).build();
    String uri = uri(signed, signed, securePort) + "&namespace=restarted";
    try (ZooKeeperEnsemble restarted = server(securePort);
        LockClient holder = LockClient.open(uri, options);
        LockClient waiter = LockClient.open(uri, options)) {
      Lease lease = holder.lock("job").acquire();
      var waiting = waiter.lock("job").acquireAsync();
      Eventually.holds("it waits", () -> holder.admin().inspect("job").waiters().size() == 1);
      for (int i = 0; i < 3; i++) {
        restarted.members().get(0).kill();
        restarted.members().get(0).restart();
        Eventually.holds("renewed", () -> isRenewed(lease));
      }
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
      Lease next = waiting.get(60, TimeUnit.SECONDS);
      assertTrue(next.fencingToken() > lease.fencingToken());
      next.release();
    }
  }

  @Test
  @Tag("extended")
  void theFilesOfBothSidesMayBeReplacedUnderAHeldLease() throws Exception {
    int securePort = Testbed.freePort();
    Path both = directory.resolve("of both"); // keys and certificates
    Path trusted = directory.resolve("trusted by both");
    show(signed, both, trusted);
    LockOptions options = Backends.OPTIONS.toBuilder().ttl(Duration.ofSeconds(60)).build();
    String uri =
        uri(signed, signed, securePort).replaceFirst("caCert=.*", "")
            + "namespace=replaced&caCert="
            + trusted
            + "&clientCert="
            + both;
    try (ZooKeeperEnsemble replaced = server(securePort, both, trusted);
        LockClient client = LockClient.open(uri, options)) {
      Lease lease = client.lock("job").acquire();
      replaced.members().get(0).kill();
      show(stranger, both, trusted);
      replaced.members().get(0).restart();
      Eventually.holds("renewed", () -> isRenewed(lease));
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  private static void show(TlsIdentity identity, Path both, Path trusted) throws IOException {
    Files.writeString(both, Files.readString(keyAndCertificate(identity)));
    Files.writeString(trusted, Files.readString(identity.certificate()));
  }

  private static boolean isRenewed(Lease lease) throws InterruptedException {
    try {
      lease.renew();
      return true;
    } catch (LockUnavailableException e) {
      return false;
    }
  }

  @Test
  void anUntrustedServerIsRefused() {
    assertKeptOut(uri(stranger, signed));
  }

  @Test
  void anUntrustedClientIsRefused() {
    assertKeptOut(uri(signed, stranger));
  }

  @Test
  void aClientWithoutTlsIsRefused() {
    assertKeptOut("zookeeper://127.0.0.1:" + port + "?tickTime=200ms");
  }

  private static void assertKeptOut(String uri) {
    LockUnavailableException e =
        assertThrows(
            LockUnavailableException.class,
            () -> LockClient.open(uri.replace("requestTimeout=20s", "requestTimeout=4s")));
    assertTrue(e.getMessage().contains("A server that requires TLS"), e::getMessage);
  }

  private static String uri(TlsIdentity trusted, TlsIdentity own) {
    return uri(trusted, own, port);
  }

  private static String uri(TlsIdentity trusted, TlsIdentity own, int securePort) {
    return "zookeeper://127.0.0.1:"
        + securePort
        + "?tickTime=200ms&requestTimeout=20s&tls=true&caCert="
        + trusted.certificate()
        + "&clientCert="
        + keyAndCertificate(own);
  }

  private static Path keyAndCertificate(TlsIdentity identity) {
    return identity.directory().resolve("both.pem");
  }

  private static void joinKeyAndCertificate(TlsIdentity identity) throws IOException {
    Files.writeString(
        keyAndCertificate(identity),
        Files.readString(identity.key()) + Files.readString(identity.certificate()));
  }
}
