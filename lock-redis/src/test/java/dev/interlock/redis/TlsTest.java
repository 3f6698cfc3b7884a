package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.fault.Traffic;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.TlsIdentity;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Encrypted connections, with the server's certificate checked. */
class TlsTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @TempDir static Path directory;

  private static TlsIdentity signed;
  private static TlsIdentity stranger;
  private static TlsIdentity named;

  @BeforeAll
  static void sign() throws Exception {
    signed = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    stranger = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    named = TlsIdentity.forSubject(directory, "dns:redis.example");
  }

  @Test
  void locksAndReleasesAreServedOverTls() throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis = server(signed, port);
        LockBackend backend =
            Backends.open("rediss://127.0.0.1:" + port + "?caCert=" + signed.certificate())) {
      WakeUp waiter = new WakeUp(Backends.TIME);
      try (Watch watch = backend.watch("job", waiter)) {
        Deadline limit = Deadline.in(Backends.TIME, Duration.ofSeconds(20));
        assertTrue(waiter.await(limit));
        Claim claim = claim("job");
        take(backend, claim);
        assertTrue(isBusy(backend, "job"));
        assertTrue(backend.release(claim, soon()));
        assertTrue(waiter.await(limit));
      }
      assertEquals("interlock:{job}:fence", redis.call("RANDOMKEY"));
    }
  }

  @Test
  void aServerWithAnUntrustedCertificateIsRefused() throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis = server(signed, port)) {
      for (String parameter : new String[] {"", "?caCert=" + stranger.certificate()}) {
        assertRefused("rediss://127.0.0.1:" + port + parameter, "not trusted");
      }
      assertEquals(0L, redis.call("DBSIZE"));
    }
  }

  @Test
  void aSecondAuthorityIsTrustedWithoutARestart() throws Exception {
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.ofHours(1))
            .requestTimeout(Duration.ofSeconds(10))
            .build();
    int port = Testbed.freePort();
    Path trusted =
        Files.writeString(directory.resolve("trusted"), Files.readString(signed.certificate()));
    try (RedisServer redis = server(signed, port);
        LockClient client =
            LockClient.open("rediss://127.0.0.1:" + port + "?caCert=" + trusted, options)) {
      Lease lease = client.lock("job").acquire();
      CompletableFuture<Lease> waiting = client.lock("job").acquireAsync();
      Path certificate = stranger.certificate();
      redis.call(
          "CONFIG",
          "SET",
          "tls-cert-file",
          certificate.toString(),
          "tls-key-file",
          stranger.key().toString());
      redis.call("CLIENT", "KILL", "SKIPME", "yes");
      LockUnavailableException e =
          assertThrows(LockUnavailableException.class, () -> client.lock("another").tryAcquire());
      assertTrue(e.getMessage().contains("not trusted"), e::getMessage);
      // As if the file were just being written.
      Files.writeString(trusted, Files.readString(certificate).substring(0, 100));
      assertThrows(LockUnavailableException.class, lease::renew);
      Files.writeString(
          trusted, Files.readString(signed.certificate()) + Files.readString(certificate));
      lease.renew();
      assertEquals(ReleaseOutcome.HANDED_OFF, lease.release());
      assertEquals(ReleaseOutcome.RELEASED, waiting.get(1, TimeUnit.MINUTES).release());
    }
  }

  @Test
  void aServerOfAnotherNameIsRefused() throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis = server(named, port)) {
      assertRefused(
          "rediss://127.0.0.1:" + port + "?caCert=" + named.certificate(), "for another host");
      assertEquals(0L, redis.call("DBSIZE"));
    }
  }

  @Test
  void tlsAndPlainPortsAreToldApart() throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis = server(signed, port)) {
      String plain = "rediss://127.0.0.1:" + redis.port() + "?caCert=" + signed.certificate();
      Eventually.holds(
          "the message names the port", // not a time-out before the request was sent
          () ->
              assertThrows(
                      LockUnavailableException.class,
                      () -> Backends.open(plain, Duration.ofMillis(500)))
                  .getMessage()
                  .contains("a port without TLS gives none"));
      LockUnavailableException reset =
          assertThrows(
              LockUnavailableException.class, () -> Backends.open("redis://127.0.0.1:" + port));
      assertTrue(reset.getMessage().contains("a port with TLS does that"), reset::getMessage);
    }
  }

  @Test
  void aServerThatIsRestartedDuringHandshakesFailsNoWaiterAndCostsNoLease() throws Exception {
    LockOptions patient =
        LockOptions.builder()
            .ttl(Duration.ofHours(1))
            .requestTimeout(Duration.ofSeconds(20))
            .build();
    int port = Testbed.freePort();
    try (RedisServer redis = server(signed, port);
        FaultProxy proxy = FaultProxy.to("127.0.0.1", port);
        LockClient client =
            LockClient.open(
                "rediss://127.0.0.1:" + proxy.port() + "?caCert=" + signed.certificate(),
                patient)) {
      Lease lease = client.lock("held").acquire();
      redis.pause();
      Traffic before = proxy.traffic();
      List<CompletableFuture<Lease>> waiting = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        waiting.add(client.lock("job " + i).acquireAsync());
      }
      // One request has a connection; the others open one each, with a ClientHello of some hundred
      // bytes.
      Eventually.holds(
          "handshakes",
          () ->
              proxy.traffic().accepted() >= before.accepted() + 3
                  && proxy.traffic().toServer().received() > before.toServer().received() + 600);
      try (NetworkFault cut = proxy.cut()) {
        redis.restart();
      }
      for (CompletableFuture<Lease> one : waiting) {
        assertEquals(ReleaseOutcome.RELEASED, one.get(1, TimeUnit.MINUTES).release());
      }
      lease.renew();
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  @Test
  void theHandshakeEndsWithTheDeadlineTogetherWithTheOtherStepsOfConnecting() throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis = server(signed, port, "tls-auth-clients no", "tls-protocols TLSv1.2");
        FaultProxy proxy = FaultProxy.to("127.0.0.1", port);
        LockBackend backend =
            Backends.open(
                "rediss://127.0.0.1:" + proxy.port() + "?caCert=" + signed.certificate(),
                Duration.ofMinutes(10))) {
      FailuresTest.assertConnectingEndsWithTheDeadline(proxy, backend);
    }
  }

  @Test
  void aHandshakeThatThePeerCutsIsATemporaryFailure() throws Exception {
    try (CannedServer rude = CannedServer.saying("")) {
      LockUnavailableException e =
          assertThrows(
              LockUnavailableException.class,
              () -> Backends.open("rediss://127.0.0.1:" + rude.port()));
      assertTrue(e.getMessage().contains("broke during the TLS handshake"), e::getMessage);
    }
    try (CannedServer plain = CannedServer.saying("-ERR unknown command\r\n")) {
      assertRefused("rediss://127.0.0.1:" + plain.port(), "is this a port without TLS?");
    }
  }

  /**
   * The server asks for a certificate, or closes the connection so early that Jedis cannot report
   * why.
   */
  @ParameterizedTest
  @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
  void theMessageSaysThatTheServerMayRequireAClientCertificate(String version) throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis =
        server(signed, port, "tls-protocols " + version, "tls-auth-clients yes")) {
      for (int i = 0; i < 10; i++) {
        LockException e =
            assertThrows(
                LockException.class,
                () ->
                    Backends.open(
                        "rediss://127.0.0.1:" + port + "?caCert=" + signed.certificate()));
        assertTrue(e.getMessage().contains("tls-auth-clients"), e::getMessage);
      }
      assertEquals(0L, redis.call("DBSIZE"));
    }
  }

  private static void assertRefused(String uri, String message) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> Backends.open(uri));
    assertTrue(e.getMessage().contains(message), e::getMessage);
  }

  private static RedisServer server(TlsIdentity signed, int port) {
    return server(signed, port, "tls-auth-clients no");
  }

  private static RedisServer server(TlsIdentity signed, int port, String... more) {
    return Testbed.redis()
        .config(
            "tls-port " + port,
            "tls-cert-file " + signed.certificate(),
            "tls-key-file " + signed.key(),
            "tls-ca-cert-file " + signed.certificate())
        .config(more)
        .start();
  }
}
