package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.RedisServer;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.TlsIdentity;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encrypted connections, with the server's certificate checked. */
class TlsTest {

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
        assertTrue(backend.release(claim, soon()));
        assertTrue(waiter.await(limit));
      }
      assertEquals("interlock:{job}:fence", redis.call("RANDOMKEY"));
    }
  }

  @Test
  void aServerThatNobodyVouchesForIsRefused() throws Exception {
    int port = Testbed.freePort();
    try (RedisServer redis = server(signed, port)) {
      for (String parameter : new String[] {"", "?caCert=" + stranger.certificate()}) {
        assertRefused("rediss://127.0.0.1:" + port + parameter, "not trusted");
      }
      assertEquals(0L, redis.call("DBSIZE"));
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
          "told so", // and not that the time was up before it could be asked
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

  private static void assertRefused(String uri, String message) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> Backends.open(uri));
    assertTrue(e.getMessage().contains(message), e::getMessage);
  }

  private static RedisServer server(TlsIdentity signed, int port) {
    return Testbed.redis()
        .config(
            "tls-port " + port,
            "tls-cert-file " + signed.certificate(),
            "tls-key-file " + signed.key(),
            "tls-ca-cert-file " + signed.certificate(),
            "tls-auth-clients no")
        .start();
  }
}
