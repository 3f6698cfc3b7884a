package dev.interlock.jdbc;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.BackendInfoBuilder;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** The databases that can keep locks. */
public enum JdbcDatabase {
  /** PostgreSQL 12 or later. It notifies waiters of releases. */
  POSTGRESQL(
      "PostgreSQL",
      5432,
      "org.postgresql.Driver",
      "org.postgresql:postgresql",
      "a row with an expiry per lock on PostgreSQL, and a notification on release",
      JdbcDatabase::server),

  /** MariaDB 10.5 or later. Waiters poll. */
  MARIADB(
      "MariaDB",
      3306,
      "org.mariadb.jdbc.Driver",
      "org.mariadb.jdbc:mariadb-java-client",
      "a row with an expiry per lock on MariaDB; waiters poll",
      JdbcDatabase::server),

  /** MySQL 8 or later. Waiters poll. */
  MYSQL(
      "MySQL",
      3306,
      "com.mysql.cj.jdbc.Driver",
      "com.mysql:mysql-connector-j",
      "a row with an expiry per lock on MySQL; waiters poll",
      JdbcDatabase::server),

  /** H2 2.x, for tests that need no server. Waiters poll. */
  H2(
      "H2",
      9092,
      "org.h2.Driver",
      "com.h2database:h2",
      "a row with an expiry per lock on H2, for tests; waiters poll",
      JdbcDatabase::lazyWriter);

  private final String product;
  private final int port;
  private final String driver;
  private final String artifact;

  // Immutable, though not annotated as such.
  @SuppressWarnings("ImmutableEnumChecker")
  private final BackendInfo info;

  JdbcDatabase(
      String product,
      int port,
      String driver,
      String artifact,
      String summary,
      UnaryOperator<BackendInfoBuilder> promises) {
    this.product = product;
    this.port = port;
    this.driver = driver;
    this.artifact = artifact;
    this.info =
        promises
            .apply(
                BackendInfoBuilder.of(scheme(), summary)
                    .capabilities(
                        Capability.FENCING,
                        Capability.STARVATION_FREE,
                        Capability.REVOKE,
                        Capability.LIST,
                        Capability.READ_WRITE,
                        Capability.SEMAPHORE,
                        Capability.DEFERRED_RELEASE)
                    .granularity(Duration.ofMillis(100))
                    .minTtl(Duration.ofMillis(50)))
            .build();
  }

  /** {@return the database whose driver reports this product name} */
  static Optional<JdbcDatabase> ofProduct(String product) {
    return Arrays.stream(values()).filter(one -> one.product.equals(product)).findFirst();
  }

  /**
   * {@return the database that a URI scheme means}
   *
   * @param scheme one of the provider's
   */
  static JdbcDatabase ofScheme(String scheme) {
    return valueOf(scheme.toUpperCase(Locale.ROOT));
  }

  /** {@return the scheme of its lock URIs} */
  String scheme() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** {@return the database's name, as its driver reports it} */
  String product() {
    return product;
  }

  int port() {
    return port;
  }

  String driver() {
    return driver;
  }

  /** {@return the Maven coordinates of its driver, without a version} */
  String artifact() {
    return artifact;
  }

  BackendInfo info() {
    return info;
  }

  boolean isMaria() {
    return this == MARIADB || this == MYSQL;
  }

  /**
   * {@return how long a party keeps its precedence while there is room for more; longer if waiters
   * poll}
   */
  long precedenceMicros() {
    return this == POSTGRESQL ? 200_000 : 800_000;
  }

  /** {@return the maximum poll interval with which waiters use their precedence in time} */
  long maxPollMicros() {
    return this == POSTGRESQL ? Long.MAX_VALUE : precedenceMicros() / 2;
  }

  /**
   * The promises of a server that writes to its disk before it answers. Locks may still be
   * forgotten or end early, through a replica that takes over, an older backup, a clock step or a
   * person; then exclusion is lost. Tokens still rise, because they are no lower than the server's
   * clock in sixteenths of a millisecond.
   */
  private static BackendInfoBuilder server(BackendInfoBuilder database) {
    return common(database)
        .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.SERVER_RESTARTED)
        .guarantee(Guarantee.TOKENS_ONLY, Fault.SERVER_RESTARTED_EMPTY);
  }

  /**
   * The promises of H2, which answers before a commit is on the disk, or keeps everything in
   * memory.
   */
  private static BackendInfoBuilder lazyWriter(BackendInfoBuilder database) {
    return common(database)
        .guarantee(Guarantee.TOKENS_ONLY, Fault.SERVER_RESTARTED, Fault.SERVER_RESTARTED_EMPTY);
  }

  private static BackendInfoBuilder common(BackendInfoBuilder database) {
    return database
        .guarantee(
            Guarantee.EXCLUSION_AND_TOKENS,
            Fault.CLIENT_KILLED,
            Fault.CLIENT_STOPPED,
            Fault.CONNECTION_LOST,
            Fault.PARTITION,
            Fault.SERVER_STOPPED,
            Fault.MACHINE_SUSPENDED)
        .guarantee(
            Guarantee.TOKENS_ONLY,
            Fault.ASYNC_FAILOVER,
            Fault.SERVER_CLOCK_STEPPED,
            Fault.FORCED_RELEASE)
        .guarantee(
            Guarantee.NOT_APPLICABLE, Fault.MINORITY_LOST, Fault.LEADER_CHANGED, Fault.EVICTION);
  }
}
