package dev.interlock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.tck.specimen.ForwardingClient;
import dev.interlock.testbed.Testbed;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** A client keeps the contract beside a program that uses up their common pool every second. */
@Tag("extended")
class SharedPoolContractTest extends LockTck {

  @Override
  protected Harness harness() {
    return new Shared();
  }

  static final class Shared implements Harness {
    private static final int CONNECTIONS = 3;

    @Override
    public Server start() {
      return new DatabaseUnderTest(
          Testbed.postgresql().config("max_connections = 500").withoutSync().start());
    }

    @Override
    public boolean startsServers() {
      return true;
    }

    @Override
    public LockClient open(String uri, LockOptions options) {
      return open(uri, options, TimeSource.system());
    }

    /**
     * Twice the usual outage time-out. When connections fall silent, the pool may hand them out one
     * after the other, and each makes a request time out.
     */
    @Override
    public Timing timing(BackendInfo info) {
      Timing usual = Harness.super.timing(info);
      return new Timing(
          usual.ttl(),
          usual.renewedTtl().multipliedBy(2),
          usual.longTtl(),
          usual.requestTimeout(),
          usual.bound());
    }

    /** Opens a client with a pool of its own, like another instance of the program. */
    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      JdbcUri parsed = JdbcUri.read(LockUri.parse(uri), options.requestTimeout());
      HikariDataSource pool = pool(parsed);
      try {
        LockClient client =
            ClientsWithTimeSource.using(
                context -> BackendOpener.ofProgram(pool, parsed.settings(), context),
                options,
                time);
        for (int i = 0; i < CONNECTIONS; i++) {
          Thread program = new Thread(() -> useUp(pool), "program");
          program.setDaemon(true);
          program.start();
        }
        return new ForwardingClient(client) {
          @Override
          public void close() {
            super.close();
            pool.close();
          }

          @Override
          public void close(Duration drain) {
            super.close(drain);
            pool.close();
          }
        };
      } catch (RuntimeException e) {
        pool.close();
        throw e;
      }
    }

    private static HikariDataSource pool(JdbcUri uri) {
      ProgramSource source =
          () -> {
            Properties login = uri.properties();
            login.keySet().retainAll(Set.of("user", "password"));
            return DriverManager.getConnection(uri.url(), login);
          };
      HikariDataSource pool = new HikariDataSource();
      pool.setDataSource(source);
      pool.setMaximumPoolSize(CONNECTIONS);
      pool.setMinimumIdle(0);
      // The pool tests each silent connection for this time before it makes another one.
      pool.setValidationTimeout(uri.requestTimeout().toMillis() / 4);
      return pool;
    }

    /** Lets the program use all connections at once in every second. */
    private static void useUp(HikariDataSource pool) {
      while (!pool.isClosed()) {
        try {
          Thread.sleep(1_000 - System.currentTimeMillis() % 1_000);
          try (Connection unused = pool.getConnection()) {
            Thread.sleep(100);
          }
        } catch (SQLException | InterruptedException e) {
          // the server is not available, or the pool is closed
        }
      }
    }
  }
}
