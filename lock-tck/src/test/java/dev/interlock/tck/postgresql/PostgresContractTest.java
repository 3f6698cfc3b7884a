package dev.interlock.tck.postgresql;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The tutorial's backend keeps the contract, on a real PostgreSQL. */
class PostgresContractTest extends LockTck {

  private static EmbeddedPostgres server;

  @BeforeAll
  static void start() throws IOException {
    // Clients run side by side by the dozen, each with a pool of its own.
    // Nothing here ends the server, so nothing is gained by waiting for the disk.
    server =
        EmbeddedPostgres.builder()
            .setServerConfig("max_connections", "500")
            .setServerConfig("fsync", "off")
            .start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() {
        return () -> "postgresql://postgres:postgres@localhost:" + server.getPort() + "/postgres";
      }

      /** Twice the usual: half of the request time-out is for the pool, half for the answer. */
      @Override
      public Timing timing(BackendInfo info) {
        Timing usual = Harness.super.timing(info);
        Duration more = usual.requestTimeout();
        return new Timing(
            usual.term().multipliedBy(2),
            usual.renewedTerm().multipliedBy(2),
            usual.longTerm(),
            usual.requestTimeout().plus(more),
            usual.bound().plus(more));
      }
    };
  }
}
