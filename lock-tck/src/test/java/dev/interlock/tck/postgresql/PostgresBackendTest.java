package dev.interlock.tck.postgresql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the server is started by a POSIX shell")
class PostgresBackendTest {

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private static PostgresServer server;

  @BeforeAll
  static void start() throws IOException {
    server = new PostgresServer();
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  /** With time-outs that no pause of a busy machine exceeds. */
  private static String uri() {
    return server.uri("postgres") + "?requestTimeout=60s&term=5m";
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
  void aMissingServerIsNotThere() {
    assertThrows(
        LockUnavailableException.class,
        () -> LockClient.open("postgresql://127.0.0.1:1/postgres?requestTimeout=500ms"));
  }

  @Test
  void aMissingDatabaseIsAMistake() {
    String missing = server.uri("not-there") + "?requestTimeout=1s";
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      // That it is missing is told by the server, which may be too busy to answer in time.
      LockException refusal = assertThrows(LockException.class, () -> LockClient.open(missing));
      if (refusal instanceof LockConfigurationException) {
        return;
      }
      assertTrue(System.nanoTime() - end < 0, refusal::toString);
    }
  }
}
