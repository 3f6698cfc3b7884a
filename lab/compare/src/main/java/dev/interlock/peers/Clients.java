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

/** The clients of other libraries, connected. An address is a host and a port. */
public final class Clients {
  /** What Curator has unless it is told otherwise. */
  public static final Duration CURATORS_OWN_SESSION = Duration.ofSeconds(60);

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private Clients() {}

  /** {@return the addresses of a store} */
  public static List<String> addresses(String uri) {
    return LockUri.parse(uri).endpoints(0).stream().map(LockUri.Endpoint::toString).toList();
  }

  /** Connects Redisson to one server. */
  public static RedissonClient redisson(String address, Config config) {
    config.useSingleServer().setAddress("redis://" + address);
    return Redisson.create(config);
  }

  /** {@return a name's lock on all of the clients} */
  @SuppressWarnings("deprecation") // it is what Redisson has for several servers
  public static RLock redLock(List<RedissonClient> clients, String name) {
    return new RedissonRedLock(
        clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
  }

  /** Connects Lettuce as Spring does. */
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

  /** {@return a scheduler by which Spring's registries renew their locks} */
  static ThreadPoolTaskScheduler scheduler() {
    ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    scheduler.setDaemon(true);
    scheduler.initialize();
    return scheduler;
  }

  /** {@return the repository of Spring's registry on a database} */
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
   * {@return the URL for JDBC}
   *
   * @param uri the store's URI, or an address
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

  /** Connects Curator, and waits until it is connected. */
  public static CuratorFramework curator(List<String> addresses, Duration session)
      throws InterruptedException {
    CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(String.join(",", addresses))
            .sessionTimeoutMs(Math.toIntExact(session.toMillis()))
            .retryPolicy(new ExponentialBackoffRetry(1_000, 3))
            .build();
    curator.start();
    if (!curator.blockUntilConnected(Math.toIntExact(PATIENCE.toSeconds()), TimeUnit.SECONDS)) {
      curator.close();
      throw new IllegalStateException("no connection to " + addresses);
    }
    return curator;
  }

  /** Makes a client of jetcd, which connects with its first request. */
  public static Client jetcd(List<String> addresses) {
    return Client.builder()
        .endpoints(addresses.stream().map(address -> URI.create("http://" + address)).toList())
        .build();
  }
}
