package dev.interlock.tck.postgresql;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** The tutorial's backend keeps the contract, on a real PostgreSQL. */
@Tag("extended")
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the server is started by a POSIX shell")
class PostgresContractTest extends LockTck {

  private static PostgresServer server;

  @BeforeAll
  static void start() throws IOException {
    // dozens of clients run at once, each with its own pool
    // no test ends the server, so waiting for the disk is useless
    server = new PostgresServer("max_connections=500", "fsync=off");
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() {
        return () -> server.uri("postgres");
      }

      /**
       * Half of the request time-out is for the pool, half for the answer, and each must be longer
       * than a stall of a busy machine.
       */
      @Override
      public Timing timing(BackendInfo info) {
        Timing usual = Harness.super.timing(info);
        Duration more = usual.requestTimeout().multipliedBy(3);
        return new Timing(
            usual.ttl().multipliedBy(2),
            usual.renewedTtl().multipliedBy(2),
            usual.longTtl(),
            usual.requestTimeout().plus(more),
            usual.bound().plus(more));
      }
    };
  }
}
