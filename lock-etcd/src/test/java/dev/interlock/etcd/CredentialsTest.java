package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.server.TlsIdentity;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Passwords and certificates in files are changed while locks are held and awaited. */
class CredentialsTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final LockOptions OPTIONS =
      LONG_TIMEOUT.toBuilder().ttl(Duration.ofMinutes(10)).build();

  @TempDir static Path directory;
  private static TlsIdentity first;
  private static TlsIdentity second;

  @BeforeAll
  static void sign() {
    first = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    second = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
  }

  @Test
  void aPasswordIsChanged() throws Exception {
    Path file = Files.writeString(directory.resolve("password"), "first\n");
    try (EtcdCluster etcd = Testbed.etcd().password("secret").start()) {
      call(etcd, "add", "{\"name\":\"app\",\"password\":\"first\"}");
      call(etcd, "grant", "{\"user\":\"app\",\"role\":\"root\"}");
      String uri = etcd.uri().replaceFirst("//[^@]*", "//app") + "?passwordFile=" + file;
      try (LockClient holder = LockClient.open(uri, OPTIONS);
          LockClient other = LockClient.open(uri, OPTIONS)) {
        Lease lease = holder.lock("job").acquire();
        CompletableFuture<Lease> waiting = other.lock("job").acquireAsync();
        Eventually.holds("it waits", () -> holder.admin().inspect("job").waiters().size() == 1);
        // This also invalidates the user's tokens.
        call(etcd, "changepw", "{\"name\":\"app\",\"password\":\"second\"}");
        LockUnavailableException refused =
            assertThrows(LockUnavailableException.class, () -> holder.lock("third").tryAcquire());
        assertTrue(refused.getMessage().contains("refuses the user or the password"));
        assertFalse(waiting.isDone());
        Files.writeString(file, "second\n");
        lease.renew();
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        assertEquals(ReleaseOutcome.RELEASED, waiting.get(60, TimeUnit.SECONDS).release());
      }
    }
  }

  private static void call(EtcdCluster etcd, String what, String json) throws IOException {
    String unused = etcd.leader().call("/v3/auth/user/" + what, json);
  }

  @Test
  @Tag("extended")
  void theServersAuthorityIsChanged() throws Exception {
    Path trusted = directory.resolve("trusted");
    String before = Files.readString(first.certificate());
    String after = Files.readString(second.certificate());
    Files.writeString(trusted, before);
    TlsIdentity shown = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    Files.writeString(shown.key(), Files.readString(first.key()));
    // The server shows the first of them; the testbed trusts both.
    Files.writeString(shown.certificate(), before + after);
    try (EtcdCluster etcd = Testbed.etcd().tls(shown).start();
        LockClient client = LockClient.open(address(etcd) + "?caCert=" + trusted, OPTIONS)) {
      Lease lease = client.lock("job").acquire();
      etcd.members().get(0).kill();
      Files.writeString(shown.certificate(), after + before);
      Files.writeString(shown.key(), Files.readString(second.key()));
      etcd.members().get(0).restart();
      Eventually.holds(
          "the server is not trusted",
          () ->
              assertThrows(
                      LockUnavailableException.class, () -> client.lock("another").tryAcquire())
                  .getMessage()
                  .contains("not trusted"));
      Files.writeString(trusted, after.substring(0, 100)); // it is being written
      assertThrows(LockUnavailableException.class, () -> client.lock("another").tryAcquire());
      Files.writeString(trusted, before + after);
      Eventually.holds("renewed", () -> isRenewed(lease));
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  private static String address(EtcdCluster etcd) {
    return etcd.uri().replaceFirst("[?].*", "");
  }

  private static boolean isRenewed(Lease lease) throws InterruptedException {
    try {
      lease.renew();
      return true;
    } catch (LockUnavailableException e) {
      return false; // the driver has not connected again yet
    }
  }

  @Test
  void eachConnectionShowsThePresentCertificate() throws Exception {
    Path certificate = directory.resolve("own.pem");
    Path key = directory.resolve("own.key");
    Files.writeString(certificate, Files.readString(first.certificate()));
    Files.writeString(key, Files.readString(first.key()));
    ClientTls client =
        new ClientTls(Optional.of(first.certificate()), Optional.of(certificate), Optional.of(key));
    assertEquals(certificate(first), shownBy(client, first, first));
    String after = Files.readString(second.key());
    Files.writeString(certificate, Files.readString(second.certificate()));
    Files.writeString(key, after.substring(0, after.length() / 2)); // it is being written
    assertEquals(certificate(first), shownBy(client, first, first));
    Files.writeString(key, after);
    assertEquals(certificate(second), shownBy(client, first, second));
  }

  private static Certificate certificate(TlsIdentity identity) throws Exception {
    try (InputStream pem = Files.newInputStream(identity.certificate())) {
      return CertificateFactory.getInstance("X.509").generateCertificate(pem);
    }
  }

  /** The certificate that the client shows to a server that trusts the given one. */
  private static Certificate shownBy(ClientTls client, TlsIdentity server, TlsIdentity trusted)
      throws Exception {
    JdkSslContext context =
        (JdkSslContext)
            SslContextBuilder.forServer(server.certificate().toFile(), server.key().toFile())
                .sslProvider(SslProvider.JDK)
                .trustManager(trusted.certificate().toFile())
                .build();
    try (SSLServerSocket listening =
        (SSLServerSocket) context.context().getServerSocketFactory().createServerSocket(0)) {
      listening.setNeedClientAuth(true);
      CompletableFuture<Certificate> shown =
          CompletableFuture.supplyAsync(
              () -> {
                try (SSLSocket accepted = (SSLSocket) listening.accept()) {
                  return accepted.getSession().getPeerCertificates()[0];
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      try (SSLSocket socket =
          (SSLSocket)
              client
                  .jdkContext()
                  .getSocketFactory()
                  .createSocket("127.0.0.1", listening.getLocalPort())) {
        socket.startHandshake();
        return shown.get(60, TimeUnit.SECONDS);
      }
    }
  }
}
