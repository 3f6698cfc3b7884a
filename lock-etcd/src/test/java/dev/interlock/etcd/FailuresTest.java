package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.base64;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
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
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import dev.interlock.testbed.server.TlsIdentity;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Every problem is reported in time, with its cause and a correction, and leaves nothing behind.
 * Each test has its own servers and mostly waits, so the tests run concurrently.
 */
@Execution(ExecutionMode.CONCURRENT)
class FailuresTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String SECRET = "s3cret";
  private static final Duration TIMEOUT = Duration.ofSeconds(8);
  // Far below the time of a driver without a deadline, and far above the delay of a busy machine.
  private static final Duration SLACK = Duration.ofSeconds(16);
  private static final LockOptions OPTIONS = LockOptions.builder().requestTimeout(TIMEOUT).build();

  @Test
  void aMissingServerIsReported() throws Exception {
    int port = Testbed.freePort();
    LockUnavailableException e = unavailable("etcd://127.0.0.1:" + port);
    assertEquals("etcd", e.backend());
    assertEquals("127.0.0.1:" + port, e.endpoint());
    assertSays(e, "etcd at 127.0.0.1:" + port + ": the connection was refused");
  }

  @Test
  void aConnectionThatClosesWhileARequestIsSent() {
    EtcdException closed =
        EtcdExceptionFactory.toEtcdException(
            Status.UNKNOWN
                .withDescription("channel closed")
                .withCause(new ClosedChannelException())
                .asRuntimeException());
    // So the client repeats a read over another connection, and a waiter keeps its place.
    assertTrue(Failures.isOfConnection(closed));
    LockUnavailableException e =
        assertInstanceOf(LockUnavailableException.class, new Failures("a:1").explain(closed));
    assertSays(e, "the connection broke or could not be made: channel closed");
    assertTrue(e.isInDoubt());
  }

  @Test
  void anUnknownHostIsReported() {
    assertSays(unavailable("etcd://nohost.invalid"), "unknown host");
  }

  @Test
  void aSilentServerIsReported() {
    try (EtcdCluster etcd = Testbed.etcd().forFaults().start()) {
      etcd.members().get(0).pause();
      assertSays(unavailable(etcd.uri()), "no answer in time");
    }
  }

  @Test
  void anUntrustedServerIsReported() {
    try (EtcdCluster etcd = Testbed.etcd().tls().start()) {
      String uri = etcd.uri();
      LockClient.open(uri, Backends.LONG_TIMEOUT).close();
      assertSays(wrong(uri.substring(0, uri.indexOf('?'))), "certificate is not trusted");
    }
  }

  @Test
  void tlsAndPlainPortsAreDistinguished() {
    try (EtcdCluster plain = Testbed.etcd().start();
        EtcdCluster secured = Testbed.etcd().tls().start()) {
      assertSays(unavailable(plain.uri().replace("etcd:", "etcds:")), "a port without TLS");
      String uri = secured.uri().replace("etcds:", "etcd:");
      assertSays(unavailable(uri.substring(0, uri.indexOf('?'))), "one with TLS");
    }
  }

  @Test
  void clientsAreAskedForCertificates(@TempDir Path directory) throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().clientCertificates().start()) {
      String uri = etcd.uri();
      try (LockClient client = LockClient.open(uri, Backends.LONG_TIMEOUT)) {
        assertEquals(ReleaseOutcome.RELEASED, client.lock("job").acquire().release());
      }
      String unknown = uri.substring(0, uri.indexOf("&clientCert"));
      assertSays(wrong(unknown), "asks for a client certificate");
      TlsIdentity stranger = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
      assertSays(
          wrong(unknown + "&clientCert=" + stranger.certificate() + "&clientKey=" + stranger.key()),
          "does not trust the one that it got");
      assertEquals(0, Backends.keys(etcd.leader(), "interlock/"));
    }
  }

  @Test
  void anotherKindOfServerIsReported() throws Exception {
    try (ServerSocket other = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      Thread hangUp =
          new Thread(
              () -> {
                try {
                  while (true) {
                    other.accept().close();
                  }
                } catch (IOException e) {
                  // The test is over.
                }
              });
      hangUp.start();
      String address = "127.0.0.1:" + other.getLocalPort();
      assertSays(unavailable("etcd://" + address), "another server's port");
      assertSays(unavailable("etcds://" + address), "closed in the TLS handshake");
    }
  }

  /** A missing endpoint does not keep a client from the others. */
  @Test
  void oneOfSeveralEndpointsIsEnough() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().start()) {
      String uri = etcd.uri().replace("//", "//127.0.0.1:" + Testbed.freePort() + ",");
      try (LockClient client = LockClient.open(uri, Backends.LONG_TIMEOUT)) {
        assertEquals(ReleaseOutcome.RELEASED, client.lock("job").acquire().release());
      }
    }
  }

  @Test
  void refusedLoginsAreExplained() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().password(SECRET).start()) {
      assertSays(wrong(etcd.uri().replace(SECRET, "wrong")), "refuses the user or the password");
      assertSays(wrong(etcd.uri().replace("root:" + SECRET + "@", "")), "needs a user");
      EtcdServer server = etcd.leader();
      server.call("/v3/auth/user/add", "{\"name\":\"guest\",\"password\":\"guest\"}");
      String guest = etcd.uri().replace("root:" + SECRET, "guest:guest");
      assertSays(wrong(guest), "does not grant the user the rights");

      // A user who may only read is refused at the first write.
      server.call("/v3/auth/role/add", "{\"name\":\"reader\"}");
      server.call(
          "/v3/auth/role/grant",
          "{\"name\":\"reader\",\"perm\":{\"permType\":\"READ\",\"key\":\""
              + base64("interlock/")
              + "\",\"range_end\":\""
              + base64("interlock0")
              + "\"}}");
      server.call("/v3/auth/user/grant", "{\"user\":\"guest\",\"role\":\"reader\"}");
      try (LockClient client = LockClient.open(guest, Backends.LONG_TIMEOUT)) {
        assertSays(
            inTime(LockConfigurationException.class, () -> client.lock("job").tryAcquire()),
            "does not grant the user the rights");
        assertEquals(0, Backends.keys(server, "interlock/"));
      }
      try (LockClient client = LockClient.open(etcd.uri(), Backends.LONG_TIMEOUT)) {
        assertEquals(ReleaseOutcome.RELEASED, client.lock("job").acquire().release());
      }
    }
  }

  @Test
  void aLoginOnAServerWithoutUsersIsReported() {
    try (EtcdCluster etcd = Testbed.etcd().start()) {
      assertSays(
          wrong(etcd.uri().replace("//", "//me:" + SECRET + "@")), "has no authentication enabled");
    }
  }

  @Test
  void aLostQuorumIsReported() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().members(3).forFaults().start();
        LockClient client = LockClient.open(etcd.uri(), OPTIONS);
        LockClient patient = LockClient.open(etcd.uri(), Backends.LONG_TIMEOUT)) {
      client.lock("job").acquire().release();
      etcd.members().subList(0, 2).forEach(EtcdServer::kill);
      unavailable(etcd.uri());
      inTime(LockUnavailableException.class, () -> client.lock("job").tryAcquire());
      etcd.heal();
      try (Lease lease = patient.lock("job").acquire()) {
        assertTrue(lease.isHeld());
      }
    }
  }

  @Test
  void aDatabaseOverItsQuotaIsReported() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().config("quota-backend-bytes: 1000000").start();
        LockClient client = LockClient.open(etcd.uri(), Backends.LONG_TIMEOUT);
        EtcdBackend doubtful = Backends.open(etcd.uri(), TIMEOUT)) {
      EtcdServer server = etcd.leader();
      Lease before = client.lock("before").acquire();
      Claim claim = Backends.claim("doubtful");
      doubtful.join(claim, Backends.in(TIMEOUT)).close();
      QueueEntry.of(claim).setRevision(0);
      String value = base64("x".repeat(100_000));
      IOException full =
          assertThrows(
              IOException.class,
              () -> {
                for (int i = 0; i < 100; i++) {
                  server.call(
                      "/v3/kv/put",
                      "{\"key\":\"" + base64("k" + i) + "\",\"value\":\"" + value + "\"}");
                }
              });
      assertTrue(full.getMessage().contains("space exceeded"), full::getMessage);
      assertSays(
          inTime(LockUnavailableException.class, () -> client.lock("job").tryAcquire()),
          "has reached its quota");
      assertEquals(0, Backends.keys(server, "interlock/lock/job/"));
      // The key of a transaction whose answer was lost can be released, too.
      assertTrue(doubtful.release(claim, Backends.in(TIMEOUT)));
      assertEquals(0, Backends.keys(server, "interlock/lock/doubtful/"));
      // Held locks stay held, and can be released.
      before.renew();
      assertEquals(ReleaseOutcome.RELEASED, before.release());
    }
  }

  private static LockUnavailableException unavailable(String uri) {
    return inTime(LockUnavailableException.class, () -> LockClient.open(uri, OPTIONS).close());
  }

  private static LockConfigurationException wrong(String uri) {
    return inTime(LockConfigurationException.class, () -> LockClient.open(uri, OPTIONS).close());
  }

  private static <E extends LockException> E inTime(Class<E> type, Executable call) {
    long start = System.nanoTime();
    E e = assertThrows(type, call);
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(took.compareTo(TIMEOUT.plus(SLACK)) < 0, () -> "took " + took);
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      assertFalse(String.valueOf(cause.getMessage()).contains(SECRET), cause::toString);
    }
    return e;
  }

  private static void assertSays(LockException e, String what) {
    assertTrue(e.getMessage().contains(what), e::toString);
  }
}
