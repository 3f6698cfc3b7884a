package dev.interlock.peers;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.tck.Server;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.springframework.core.io.ClassPathResource;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.datasource.init.ScriptUtils;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Spring Integration's {@code JdbcLockRegistry}, on PostgreSQL. */
final class SpringJdbcHarness extends PeerHarness {

  SpringJdbcHarness() {
    super("Spring JdbcLockRegistry", Set.of(), Duration.ofMillis(500), Duration.ofMillis(20));
  }

  @Override
  String setUp() {
    return "Spring Integration "
        + Versions.of("spring-integration-jdbc")
        + " with a DefaultLockRepository on one PostgreSQL; with a renewalTaskScheduler where leases"
        + " are to be renewed";
  }

  @Override
  Map<String, String> notOffered() {
    return ThreadOwned.RULES;
  }

  @Override
  Duration patience() {
    return Duration.ofSeconds(10);
  }

  @Override
  public Server start() throws Exception {
    Store store =
        new Store(Testbed.postgresql().config("max_connections = 600", "fsync = off").start());
    try (Connection connection = store.connect()) {
      ScriptUtils.executeSqlScript(
          connection,
          new ClassPathResource("org/springframework/integration/jdbc/schema-postgresql.sql"));
    }
    return store;
  }

  /**
   * {@return the URL for JDBC}
   *
   * @param uri the store's URI, or an address
   */
  static String jdbcUrl(String uri) {
    String address = uri.replaceFirst("^[^/]*//", "").replaceFirst("/.*", "");
    return "jdbc:postgresql://%s/%s?user=%s&password=%s"
        .formatted(address, PostgresServer.DATABASE, PostgresServer.USER, PostgresServer.PASSWORD);
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(
        jdbcUrl(addresses.get(0))
            + "&connectTimeout=2&socketTimeout="
            + requestTimeout.toSeconds());
    config.setConnectionTimeout(requestTimeout.toMillis());
    config.setMinimumIdle(0);
    HikariDataSource pool = new HikariDataSource(config);
    DefaultLockRepository repository = new DefaultLockRepository(pool);
    repository.setTransactionManager(new JdbcTransactionManager(pool));
    repository.afterPropertiesSet();
    repository.afterSingletonsInstantiated();
    repository.start();
    JdbcLockRegistry registry = new JdbcLockRegistry(repository, terms.ttl());
    ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    scheduler.setDaemon(true);
    scheduler.initialize();
    boolean renews = terms.renewed();
    if (renews) {
      registry.setRenewalTaskScheduler(scheduler);
    }
    return new SpringPeer(
        registry,
        terms,
        renews,
        () -> {
          scheduler.shutdown();
          repository.stop();
          repository.close();
          pool.close();
        });
  }

  /** A PostgreSQL server. */
  private record Store(PostgresServer server) implements Server, StoreView {

    private Connection connect() throws SQLException {
      return DriverManager.getConnection(jdbcUrl(uri()));
    }

    @Override
    public String uri() {
      return server.uri().replaceFirst("//[^@]*@", "//");
    }

    @Override
    public Optional<StoreView> view() {
      return Optional.of(this);
    }

    private static String key(String name) {
      return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)).toString();
    }

    @Override
    public boolean delete(String name) throws SQLException {
      try (Connection connection = connect();
          PreparedStatement delete =
              connection.prepareStatement("DELETE FROM INT_LOCK WHERE LOCK_KEY = ?")) {
        delete.setString(1, key(name));
        return delete.executeUpdate() > 0;
      }
    }

    @Override
    public List<Entry> entries() throws SQLException {
      List<Entry> entries = new ArrayList<>();
      try (Connection connection = connect();
          Statement query = connection.createStatement();
          ResultSet rows = query.executeQuery("SELECT LOCK_KEY FROM INT_LOCK")) {
        while (rows.next()) {
          entries.add(new Entry(Kind.HOLDER, "row " + rows.getString(1), false));
        }
      }
      return entries;
    }

    @Override
    public void close() {
      server.close();
    }
  }
}
