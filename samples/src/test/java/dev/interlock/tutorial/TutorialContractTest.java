package dev.interlock.tutorial;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import dev.interlock.testbed.kit.DatabaseStore;
import java.time.Duration;
import org.junit.jupiter.api.Tag;

/** The tutorial's backend keeps the contract, on a real PostgreSQL. */
@Tag("extended")
class TutorialContractTest extends LockTck {

  private static final DatabaseStore.Table TABLE =
      new DatabaseStore.Table(
          "SELECT encode(name, 'hex'), token IS NOT NULL FROM interlock_lock",
          true,
          DatabaseStore::fromHex,
          name ->
              "DELETE FROM interlock_lock WHERE name = decode('%s', 'hex')"
                  .formatted(DatabaseStore.toHex(name)));

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() {
        // dozens of clients run at once, each with its own pool
        // no test ends the server, so waiting for the disk is useless
        PostgresServer server =
            Testbed.postgresql().config("max_connections = 500").withoutSync().start();
        return new DatabaseStore(server, server.uri().replace("postgresql:", "tutorial:"), TABLE);
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
