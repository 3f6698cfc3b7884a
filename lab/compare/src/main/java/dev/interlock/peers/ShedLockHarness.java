package dev.interlock.peers;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.jdbc.JdbcDatabase;
import dev.interlock.jdbc.JdbcLocks;
import dev.interlock.jdbc.JdbcSettings;
import dev.interlock.shedlock.InterlockLockProvider;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.database.PostgresServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;

/** ShedLock's interface, on PostgreSQL. */
abstract class ShedLockHarness extends PeerHarness {

  private static final String WAIT = "a wait for a lock that is held";

  private ShedLockHarness(String name, Duration granularity) {
    super(name, Set.of(), granularity, Duration.ofMillis(20));
  }

  @Override
  Map<String, String> notOffered() {
    return Map.of(
        "WAIT-06", WAIT,
        "WAIT-07", WAIT,
        "FAIR-01", WAIT,
        "FAIR-02", WAIT,
        "LEASE-09", "java.util.concurrent.locks.Lock");
  }

  @Override
  Duration patience() {
    return Duration.ofSeconds(10);
  }

  @Override
  public Timing timing(BackendInfo info) {
    Timing usual = super.timing(info);
    return new Timing(
        usual.ttl(),
        ShedLockPeer.SHORTEST_KEPT_ALIVE,
        usual.longTtl(),
        usual.requestTimeout(),
        usual.bound());
  }

  /** ShedLock's own provider. */
  static final class ShedLockJdbcHarness extends ShedLockHarness {

    ShedLockJdbcHarness() {
      super("ShedLock JdbcTemplateLockProvider", Duration.ofMillis(500));
    }

    @Override
    String setUp() {
      return "ShedLock "
          + Versions.of("shedlock-provider-jdbc-template")
          + " with usingDbTime() on one PostgreSQL; with a KeepAliveLockProvider where leases are"
          + " to be renewed";
    }

    /** The table is that of ShedLock's documents, which forbid to delete its rows. */
    @Override
    public Server start() throws Exception {
      return PostgresStore.start(
              new PostgresStore.Table(
                  "SELECT name, lock_until > timezone('utc', now()) FROM shedlock",
                  false,
                  "UPDATE shedlock SET lock_until = timezone('utc', now()) WHERE name = ?",
                  UnaryOperator.identity()))
          .execute(
              "CREATE TABLE shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until TIMESTAMP"
                  + " NOT NULL, locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)");
    }

    static JdbcTemplateLockProvider provider(DataSource database) {
      return new JdbcTemplateLockProvider(
          Configuration.builder()
              .withJdbcTemplate(new JdbcTemplate(database))
              .usingDbTime()
              .build());
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      HikariDataSource pool = PostgresStore.pool(addresses.get(0), requestTimeout);
      return new ShedLockPeer(provider(pool), UnaryOperator.identity(), pool);
    }
  }

  /** Interlock behind the same interface. */
  static final class ShedLockInterlockHarness extends ShedLockHarness {

    /** The store keeps a lock for a second longer than lockAtMostFor, and a five-hundredth. */
    ShedLockInterlockHarness() {
      super("Interlock's LockProvider", Duration.ofMillis(1_500));
    }

    @Override
    String setUp() {
      return "`InterlockLockProvider` of this version on one PostgreSQL, through the interfaces of"
          + " ShedLock "
          + Versions.of("shedlock-core")
          + " alone; with a KeepAliveLockProvider where leases are to be renewed";
    }

    @Override
    public Server start() throws Exception {
      return PostgresStore.start(
              new PostgresStore.Table(
                  "SELECT encode(name, 'escape'), expires_at > extract(epoch FROM now()) *"
                      + " 1000000 FROM interlock_lock",
                  true,
                  "DELETE FROM interlock_lock WHERE name = convert_to(?, 'UTF8')",
                  UnaryOperator.identity()))
          .execute(JdbcLocks.schema(JdbcDatabase.POSTGRESQL, JdbcSettings.defaults()));
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      LockClient client =
          LockClient.open(
              "postgresql://%s:%s@%s/%s"
                  .formatted(
                      PostgresServer.USER,
                      PostgresServer.PASSWORD,
                      addresses.get(0),
                      PostgresServer.DATABASE),
              LockOptions.builder().requestTimeout(requestTimeout).build());
      return new ShedLockPeer(
          new InterlockLockProvider(client),
          atMost -> atMost.plusSeconds(1).plus(atMost.dividedBy(500)),
          client);
    }
  }
}
