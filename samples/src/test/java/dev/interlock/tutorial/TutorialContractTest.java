package dev.interlock.tutorial;

import dev.interlock.BackendInfo;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The tutorial's backend keeps the contract, on a real PostgreSQL. */
@Tag("extended")
class TutorialContractTest extends LockTck {

  private static PostgresServer server;

  @BeforeAll
  static void start() {
    // dozens of clients run at once, each with its own pool
    // no test ends the server, so waiting for the disk is useless
    server = Testbed.postgresql().config("max_connections = 500").withoutSync().start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static final class Rows implements Server, StoreView {
    @Override
    public String uri() {
      return server.uri().replace("postgresql:", "tutorial:");
    }

    @Override
    public Optional<StoreView> view() {
      return Optional.of(this);
    }

    @Override
    public List<Entry> entries() throws SQLException {
      List<Entry> entries = new ArrayList<>();
      try (Connection connection =
              DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
          Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery("SELECT name FROM interlock_lock")) {
        while (row.next()) {
          String name = new String(row.getBytes(1), StandardCharsets.UTF_8);
          entries.add(new Entry(Kind.HOLDER, "row " + name, true));
        }
      }
      return entries;
    }
  }

  @Override
  protected Harness harness() {
    return new Harness() {
      @Override
      public Server start() {
        return new Rows();
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
