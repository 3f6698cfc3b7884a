package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.BackendInfo;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.jdbc.JdbcDatabase;
import dev.interlock.jdbc.JdbcLocks;
import dev.interlock.jdbc.JdbcSettings;
import dev.interlock.shedlock.InterlockLockProvider;
import dev.interlock.spring.integration.InterlockLockRegistry;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.kit.EtcdStore;
import dev.interlock.testbed.kit.RedisStore;
import dev.interlock.testbed.kit.ZooKeeperStore;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.io.IOException;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.jdbc.datasource.init.ScriptUtils;

/** The locks under test. Each harness has a class of its own, so that another JVM can create it. */
final class Peers {
  /** The tick of ZooKeeper; session time-outs are 2 to 20 ticks. */
  private static final Duration TICK = Duration.ofSeconds(1);

  private Peers() {}

  /** {@return all harnesses, in the order of the page} */
  static List<PeerHarness> all() {
    return List.of(
        new RLockHarness(),
        new RFencedLockHarness(),
        new RedLockHarness(),
        new SpringRedisHarness(),
        new SpringJdbcHarness(),
        new SpringInterlockHarness(),
        new ShedLockJdbcHarness(),
        new ShedLockInterlockHarness(),
        new CuratorHarness(),
        new JetcdHarness());
  }

  /** Starts a Redis server on which the key of a lock is its name with a prefix and a suffix. */
  private static Server redis(String prefix, String suffix) {
    return new RedisStore(Testbed.redis().forFaults().start(), "", "", keys(prefix, suffix));
  }

  private static RedisStore.Keys keys(String prefix, String suffix) {
    return new RedisStore.Keys(
        name -> prefix + name + suffix, key -> key.contains("token") || key.endsWith(":fence"));
  }

  /** Redisson's locks. */
  abstract static class RedissonHarness extends PeerHarness {
    private final RedissonPeer.Kind kind;

    RedissonHarness(RedissonPeer.Kind kind) {
      this.kind = kind;
    }

    @Override
    public Server start() {
      return redis("", "");
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      return new RedissonPeer(kind, addresses, terms, requestTimeout);
    }
  }

  /** {@code RLock}. */
  static final class RLockHarness extends RedissonHarness {
    RLockHarness() {
      super(RedissonPeer.Kind.LOCK);
    }
  }

  /** {@code RFencedLock}. */
  static final class RFencedLockHarness extends RedissonHarness {
    RFencedLockHarness() {
      super(RedissonPeer.Kind.FENCED);
    }
  }

  /** {@code RedissonRedLock}. */
  static final class RedLockHarness extends RedissonHarness {
    RedLockHarness() {
      super(RedissonPeer.Kind.RED);
    }

    @Override
    public Server start() {
      RedlockNodes nodes = Testbed.redlockNodes().nodes(3).forFaults().start();
      return new RedisStore(nodes, nodes.members(), nodes.uri(), "", keys("", ""));
    }
  }

  /** Spring Integration's {@code RedisLockRegistry}. */
  static final class SpringRedisHarness extends PeerHarness {
    private static final String REGISTRY = "spring";

    @Override
    public Server start() {
      return redis(REGISTRY + ":", "");
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      LettuceConnectionFactory connections = Clients.lettuce(addresses.get(0), requestTimeout);
      RedisLockRegistry registry =
          new RedisLockRegistry(connections, REGISTRY, terms.ttl().toMillis());
      return SpringPeer.renewing(
          registry,
          terms,
          () -> {
            registry.destroy();
            connections.destroy();
          });
    }
  }

  /** Spring Integration's {@code JdbcLockRegistry}, on PostgreSQL. */
  static final class SpringJdbcHarness extends PeerHarness {
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
      HikariDataSource pool = Clients.postgres(addresses.get(0), requestTimeout);
      DefaultLockRepository repository = Clients.repository(pool);
      return SpringPeer.renewing(
          new JdbcLockRegistry(repository, terms.ttl()),
          terms,
          () -> {
            repository.stop();
            repository.close();
            pool.close();
          });
    }
  }

  /** Interlock behind Spring Integration's interface, adapted like Spring's own registries. */
  static final class SpringInterlockHarness extends PeerHarness {
    @Override
    public Server start() {
      return redis("interlock:{", "}");
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      LockOptions options =
          LockOptions.builder()
              .ttl(terms.ttl())
              .autoRenew(terms.renewed())
              .requestTimeout(requestTimeout)
              .build();
      LockClient client = LockClient.open("redis://" + addresses.get(0), options);
      return new SpringPeer(new InterlockLockRegistry(client), terms, client);
    }
  }

  /** ShedLock's interface, on PostgreSQL. */
  abstract static class ShedLockHarness extends PeerHarness {
    @Override
    public Timing timing(BackendInfo info) {
      Timing usual = super.timing(info);
      return new Timing(
          usual.ttl(),
          ShedLockPeer.MIN_KEEP_ALIVE,
          usual.longTtl(),
          usual.requestTimeout(),
          usual.bound());
    }
  }

  /** ShedLock's own provider. */
  static final class ShedLockJdbcHarness extends ShedLockHarness {

    /** Creates the table of ShedLock's documentation, which forbids deleting its rows. */
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

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      HikariDataSource pool = Clients.postgres(addresses.get(0), requestTimeout);
      return new ShedLockPeer(Clients.shedLock(pool), UnaryOperator.identity(), pool);
    }
  }

  /**
   * Interlock behind ShedLock's interface. The store keeps a lock longer than lockAtMostFor, by one
   * second and a five-hundredth of it.
   */
  static final class ShedLockInterlockHarness extends ShedLockHarness {
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

  /** Curator's {@code InterProcessMutex}, which promises the order of requests. */
  static final class CuratorHarness extends PeerHarness {
    @Override
    public Server start() throws IOException {
      ZooKeeperEnsemble ensemble = Testbed.zookeeper().tick(TICK).start();
      return new ZooKeeperStore(ensemble, ensemble.uri(), CuratorPeer.NODES);
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) throws Exception {
      return new CuratorPeer(addresses, terms);
    }
  }

  /** jetcd's {@code Lock}. */
  static final class JetcdHarness extends PeerHarness {
    @Override
    public Server start() {
      EtcdCluster etcd = Testbed.etcd().forFaults().withoutSync().start();
      return new EtcdStore(etcd, etcd.uri(), name -> name + "/") {
        @Override
        public boolean delete(String name) throws IOException {
          return deleteOldest(name);
        }
      };
    }

    @Override
    Peer connect(List<String> addresses, Terms terms, Duration requestTimeout) {
      return new JetcdPeer(Clients.jetcd(addresses));
    }
  }
}
