package dev.interlock.jdbc;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.testbed.database.MariaDbServer;
import dev.interlock.testbed.database.PostgresServer;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import javax.sql.DataSource;

/** Opens backends without the engine. */
final class Backends {

  static final TimeSource TIME = TimeSource.system();
  static final Duration TIMEOUT = Duration.ofMinutes(1);
  static final Duration TTL = Duration.ofMinutes(5);

  private Backends() {}

  static BackendContext context(Duration requestTimeout) {
    return context(requestTimeout, TIME);
  }

  static BackendContext context(Duration requestTimeout, TimeSource time) {
    return new BackendContext() {
      @Override
      public LockOptions options() {
        return LockOptions.builder().requestTimeout(requestTimeout).build();
      }

      @Override
      public TimeSource time() {
        return time;
      }

      @Override
      public void reportLoss(Claim claim, LossReason reason, String detail) {
        throw new AssertionError(claim + " is said to be lost");
      }
    };
  }

  static LockBackend open(String uri) {
    return open(uri, TIMEOUT);
  }

  static LockBackend open(String uri, Duration requestTimeout) {
    LockUri parsed = LockUri.parse(uri);
    return provider(parsed.scheme()).open(parsed, context(requestTimeout));
  }

  private static JdbcProvider provider(String scheme) {
    return switch (JdbcDatabase.ofScheme(scheme)) {
      case POSTGRESQL -> new PostgreSqlProvider();
      case MARIADB -> new MariaDbProvider();
      case MYSQL -> new MySqlProvider();
      case H2 -> new H2Provider();
    };
  }

  static LockBackend open(DataSource source, JdbcSettings settings) {
    return BackendOpener.ofProgram(source, settings, context(TIMEOUT));
  }

  static Claim claim(String name) {
    return claim(name, Share.EXCLUSIVE);
  }

  static Claim claim(String name, Share share) {
    return claim(name, share, TTL, Duration.ZERO);
  }

  static Claim claim(String name, Share share, Duration ttl, Duration reservation) {
    String id = UUID.randomUUID().toString().replace("-", "").substring(0, 27);
    return new Claim(name, id, ttl, true, "host/1/test", System.nanoTime(), share, reservation);
  }

  static Deadline soon() {
    return Deadline.in(TIME, TIMEOUT);
  }

  static Grant take(LockBackend backend, Claim claim) throws InterruptedException {
    Attempt attempt = backend.tryAcquire(claim, soon());
    if (attempt instanceof Attempt.Granted granted) {
      return granted.grant();
    }
    throw new AssertionError(claim + " was not granted: " + attempt);
  }

  /**
   * Returns the number of transactions that wait for a row. The server updates the number only if
   * nobody has asked for a tenth of a second.
   */
  static int waitingTransactions(MariaDbServer server) throws IOException, InterruptedException {
    Thread.sleep(150);
    return server
        .query("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
        .size();
  }

  /** Returns the number of sessions that wait for a lock. */
  static int waitingTransactions(PostgresServer server) throws IOException {
    return server.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").size();
  }
}
