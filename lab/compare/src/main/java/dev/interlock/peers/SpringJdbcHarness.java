package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.tck.Server;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
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
        + " with a DefaultLockRepository on one PostgreSQL; with a renewalTaskScheduler where"
        + " leases are to be renewed";
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
    PostgresStore store =
        PostgresStore.start(
            new PostgresStore.Table(
                "SELECT LOCK_KEY, true AS HELD FROM INT_LOCK",
                false,
                "DELETE FROM INT_LOCK WHERE LOCK_KEY = ?",
                name -> UUID.nameUUIDFromBytes(name.getBytes(UTF_8)).toString()));
    try (Connection connection = store.connect()) {
      ScriptUtils.executeSqlScript(
          connection,
          new ClassPathResource("org/springframework/integration/jdbc/schema-postgresql.sql"));
    }
    return store;
  }

  @Override
  Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
    HikariDataSource pool = PostgresStore.pool(addresses.get(0), requestTimeout);
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
}
