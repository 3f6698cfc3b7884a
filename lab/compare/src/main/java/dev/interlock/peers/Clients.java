package dev.interlock.peers;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.spi.LockUri;
import dev.interlock.testbed.database.PostgresServer;
import io.etcd.jetcd.Client;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Opens the clients of other libraries. An address is a host and a port. */
public final class Clients {
  /** The default session time-out of Curator. */
  public static final Duration CURATOR_DEFAULT_SESSION = Duration.ofSeconds(60);

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

  private Clients() {}

  /** {@return the addresses in the URI of a store} */
  public static List<String> addresses(String uri) {
    return LockUri.parse(uri).endpoints(0).stream().map(LockUri.Endpoint::toString).toList();
  }

  /** Connects Redisson to one server. */
  public static RedissonClient redisson(String address, Config config) {
    config.useSingleServer().setAddress("redis://" + address);
    return Redisson.create(config);
  }

  /** {@return the {@code RedissonRedLock} of a name on all of these clients} */
  @SuppressWarnings("deprecation") // Redisson has nothing else for several servers
  public static RLock redLock(List<RedissonClient> clients, String name) {
    return new RedissonRedLock(
        clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
  }

  /** Connects Lettuce in the way of Spring. */
  public static LettuceConnectionFactory lettuce(String address, Duration timeout) {
    String[] parts = address.split(":", 2);
    LettuceConnectionFactory connections =
        new LettuceConnectionFactory(
            new RedisStandaloneConfiguration(parts[0], Integer.parseInt(parts[1])),
            LettuceClientConfiguration.builder().commandTimeout(timeout).build());
    connections.afterPropertiesSet();
    connections.start();
    return connections;
  }

  /** {@return a scheduler for the renewals of Spring's registries} */
  static ThreadPoolTaskScheduler scheduler() {
    ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    scheduler.setDaemon(true);
    scheduler.initialize();
    return scheduler;
  }

  /** {@return a repository for Spring's registry on a database} */
  static DefaultLockRepository repository(DataSource database) {
    DefaultLockRepository repository = new DefaultLockRepository(database);
    repository.setTransactionManager(new JdbcTransactionManager(database));
    repository.afterPropertiesSet();
    repository.afterSingletonsInstantiated();
    repository.start();
    return repository;
  }

  /** {@return ShedLock's provider on a database} */
  static JdbcTemplateLockProvider shedLock(DataSource database) {
    return new JdbcTemplateLockProvider(
        Configuration.builder().withJdbcTemplate(new JdbcTemplate(database)).usingDbTime().build());
  }

  /**
   * {@return the JDBC URL of a PostgreSQL store}
   *
   * @param uri the URI or the address of the store
   */
  static String postgresUrl(String uri) {
    String address = uri.replaceFirst("^[^/]*//", "").replaceFirst("/.*", "");
    return "jdbc:postgresql://%s/%s?user=%s&password=%s"
        .formatted(address, PostgresServer.DATABASE, PostgresServer.USER, PostgresServer.PASSWORD);
  }

  /** Opens a pool of connections to PostgreSQL. */
  static HikariDataSource postgres(String address, Duration requestTimeout) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(
        postgresUrl(address) + "&connectTimeout=2&socketTimeout=" + requestTimeout.toSeconds());
    config.setConnectionTimeout(requestTimeout.toMillis());
    config.setMinimumIdle(0);
    return new HikariDataSource(config);
  }

  /** Opens a client of Curator and waits until it is connected. */
  public static CuratorFramework curator(List<String> addresses, Duration session)
      throws InterruptedException {
    CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(String.join(",", addresses))
            .sessionTimeoutMs(Math.toIntExact(session.toMillis()))
            .retryPolicy(new ExponentialBackoffRetry(1_000, 3))
            .build();
    curator.start();
    if (!curator.blockUntilConnected(
        Math.toIntExact(CONNECT_TIMEOUT.toSeconds()), TimeUnit.SECONDS)) {
      curator.close();
      throw new IllegalStateException(
          "could not connect to " + addresses + " within " + CONNECT_TIMEOUT.toSeconds() + " s");
    }
    return curator;
  }

  /** Creates a client of jetcd, which connects when it sends its first request. */
  public static Client jetcd(List<String> addresses) {
    return Client.builder()
        .endpoints(addresses.stream().map(address -> URI.create("http://" + address)).toList())
        .build();
  }
}
