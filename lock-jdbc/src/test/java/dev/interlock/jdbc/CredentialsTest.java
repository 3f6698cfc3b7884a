package dev.interlock.jdbc;

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
import dev.interlock.testbed.database.DatabaseServer;
import dev.interlock.testbed.server.TlsIdentity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Passwords and certificates in files are changed while locks are held and awaited. */
class CredentialsTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(Duration.ofMinutes(10))
          // A refused login is repeated for this time.
          .requestTimeout(Duration.ofSeconds(3))
          // The first client also loads the driver.
          .openTimeout(Eventually.LIMIT)
          .build();

  @TempDir static Path directory;
  private static TlsIdentity first;
  private static TlsIdentity second;
  private static Path certificate;
  private static Path key;
  @AutoClose private static DatabaseServer postgresql;
  @AutoClose private static DatabaseServer mariadb;

  @BeforeAll
  static void start() throws Exception {
    first = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    second = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    // If root runs the tests, PostgreSQL runs as another user, which must own the key.
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
    certificate = directory.resolve("certificate.pem");
    key = Files.createFile(directory.resolve("key.pem"));
    Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
    if (System.getProperty("user.name").equals("root")) {
      Files.setOwner(
          key, key.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody"));
    }
    show(first);
    postgresql =
        Testbed.postgresql()
            .withoutSync()
            .config(
                "ssl = on", "ssl_cert_file = '" + certificate + "'", "ssl_key_file = '" + key + "'")
            .start();
    mariadb =
        Testbed.mariadb()
            .withoutSync()
            .config("ssl_cert = " + certificate, "ssl_key = " + key)
            .start();
  }

  private static void show(TlsIdentity identity) throws IOException {
    Files.writeString(certificate, Files.readString(identity.certificate()));
    Files.writeString(key, Files.readString(identity.key()));
  }

  @ParameterizedTest
  @EnumSource(
      value = JdbcDatabase.class,
      names = {"POSTGRESQL", "MARIADB", "MYSQL"})
  void aPasswordIsChanged(JdbcDatabase database) throws Exception {
    DatabaseServer server = server(database);
    boolean postgres = database == JdbcDatabase.POSTGRESQL;
    String user = "changes_" + database.scheme();
    JdbcSettings settings = JdbcSettings.builder().table(user).build();
    server.execute(JdbcLocks.schema(database, settings).split(";\n"));
    server.execute(
        postgres
            ? "CREATE ROLE " + user + " LOGIN PASSWORD 'first'"
            : "CREATE USER " + user + " IDENTIFIED BY 'first'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON " + user + " TO " + user);
    Path file = Files.writeString(directory.resolve(user), "first\n");
    String uri = uri(database).replaceFirst("//[^@]*", "//" + user);
    uri += "?table=" + user + "&passwordFile=" + file;
    try (LockClient holder = LockClient.open(uri, OPTIONS);
        LockClient other = LockClient.open(uri, OPTIONS)) {
      Lease lease = holder.lock("job").acquire();
      CompletableFuture<Lease> waiting = other.lock("job").acquireAsync();
      Eventually.holds("a waiter has asked", () -> other.waiters().size() == 1);
      server.execute(
          postgres
              ? "ALTER ROLE " + user + " PASSWORD 'second'"
              : "ALTER USER " + user + " IDENTIFIED BY 'second'");
      endConnections(database, user);
      LockUnavailableException refused =
          assertThrows(LockUnavailableException.class, () -> holder.lock("third").tryAcquire());
      assertTrue(
          refused.getMessage().contains("refuses the user or the password"), refused::toString);
      assertFalse(waiting.isDone());
      Files.writeString(file, "second\n");
      Eventually.holds("renewed", () -> isRenewed(lease));
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
      assertEquals(ReleaseOutcome.RELEASED, waiting.get(60, TimeUnit.SECONDS).release());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = JdbcDatabase.class,
      names = {"POSTGRESQL", "MARIADB"})
  void theServersAuthorityIsChanged(JdbcDatabase database) throws Exception {
    Path trusted = directory.resolve(database.scheme() + ".pem");
    Files.writeString(trusted, Files.readString(first.certificate()));
    String uri = uri(database) + "?sslmode=verify-full&caCert=" + trusted;
    try (LockClient client = LockClient.open(uri, OPTIONS)) {
      Lease lease = client.lock("tls").acquire();
      show(second);
      try {
        Files.writeString(
            trusted,
            Files.readString(first.certificate()) + Files.readString(second.certificate()));
        boolean postgres = database == JdbcDatabase.POSTGRESQL;
        server(database).execute(postgres ? "SELECT pg_reload_conf()" : "FLUSH SSL");
        endConnections(database, DatabaseServer.USER);
        Eventually.holds("renewed", () -> isRenewed(lease));
        // From now on the server shows only the second certificate.
        Files.writeString(trusted, Files.readString(second.certificate()));
        endConnections(database, DatabaseServer.USER);
        Eventually.holds("renewed", () -> isRenewed(lease));
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
      } finally {
        show(first);
      }
    }
  }

  private static boolean isRenewed(Lease lease) throws InterruptedException {
    try {
      lease.renew();
      return true;
    } catch (LockUnavailableException e) {
      return false; // the pool has not tried again yet
    }
  }

  private static void endConnections(JdbcDatabase database, String user) throws IOException {
    if (database == JdbcDatabase.POSTGRESQL) {
      postgresql.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + user + "'");
    } else {
      mariadb.execute("KILL USER " + user);
    }
  }

  private static DatabaseServer server(JdbcDatabase database) {
    return database == JdbcDatabase.POSTGRESQL ? postgresql : mariadb;
  }

  private static String uri(JdbcDatabase database) {
    return server(database).uri().replaceFirst("^[a-z]+", database.scheme());
  }
}
