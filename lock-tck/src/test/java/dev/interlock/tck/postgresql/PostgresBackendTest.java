package dev.interlock.tck.postgresql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PostgresBackendTest {

  private static EmbeddedPostgres server;

  @BeforeAll
  static void start() throws IOException {
    server = EmbeddedPostgres.start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  private static String uri() {
    return "postgresql://postgres:postgres@localhost:" + server.getPort() + "/postgres";
  }

  @Test
  void clientsExcludeEachOtherAndTokensIncrease() throws Exception {
    try (LockClient one = LockClient.open(uri());
        LockClient two = LockClient.open(uri())) {
      long token;
      try (Lease lease = one.lock("a\u0000b").acquire()) {
        token = lease.fencingToken();
        assertEquals(Optional.empty(), two.lock("a\u0000b").tryAcquire());
        assertTrue(two.inspect("a\u0000b").isHeld());
      }
      assertFalse(two.inspect("a\u0000b").isHeld());
      try (Lease lease = two.lock("a\u0000b").acquire()) {
        assertTrue(lease.fencingToken() > token);
      }
    }
  }

  @Test
  void aMissingDatabaseIsAMistakeAndAMissingServerIsNot() {
    assertThrows(
        LockConfigurationException.class, () -> LockClient.open(uri() + "-that-is-not-there"));
    assertThrows(
        LockUnavailableException.class,
        () -> LockClient.open("postgresql://localhost:1/postgres?requestTimeout=500ms"));
  }
}
