package dev.interlock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.LockConfigurationException;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * The connection pool of a client that was opened by a URI.
 *
 * @param driver makes connections outside of the pool
 * @param connections the pool
 */
record OwnPool(DriverDataSource driver, HikariDataSource connections) {

  private static final Duration MAX_IDLE = Duration.ofMinutes(1);

  /** The minimum that the pool accepts. */
  private static final long MIN_WAIT_MILLIS = 250;

  /**
   * Opens a pool. Connects once first, because a pool reports a wrong password only after its
   * time-out.
   *
   * @throws dev.interlock.LockException if the driver is missing, or the connection fails
   */
  static OwnPool open(JdbcUri uri) {
    JdbcDatabase database = uri.database();
    Failures failures = new Failures(database.scheme(), uri.endpoint(), uri.settings().table());
    DriverDataSource driver =
        new DriverDataSource(
            driver(database),
            uri.url(),
            uri::properties,
            (int) Math.min(60, wait(uri.requestTimeout()) / 1_000 + 1));
    try (Connection first = driver.getConnection()) {
      if (database != JdbcDatabase.H2) {
        first.setNetworkTimeout(Runnable::run, (int) wait(uri.requestTimeout()));
      }
      if (database == JdbcDatabase.POSTGRESQL && PostgreSqlDriver.isBehindPooler(first)) {
        driver.setProperty("prepareThreshold", "0"); // also for the tests of idle connections
      }
      return new OwnPool(driver, new HikariDataSource(config(uri, driver)));
    } catch (SQLException e) {
      throw failures.explain(e);
    }
  }

  private static Driver driver(JdbcDatabase database) {
    try {
      return Class.forName(database.driver(), true, loader())
          .asSubclass(Driver.class)
          .getDeclaredConstructor()
          .newInstance();
    } catch (ReflectiveOperationException e) {
      throw new LockConfigurationException(
          "the driver of "
              + database.product()
              + " is missing; add "
              + database.artifact()
              + " to the class path",
          e);
    }
  }

  private static ClassLoader loader() {
    ClassLoader context = Thread.currentThread().getContextClassLoader();
    return context == null ? OwnPool.class.getClassLoader() : context;
  }

  private static HikariConfig config(JdbcUri uri, DataSource driver) {
    HikariConfig config = new HikariConfig();
    config.setPoolName("interlock-" + uri.database().scheme());
    config.setDataSource(driver);
    config.setMaximumPoolSize(uri.maxConnections());
    config.setInitializationFailTimeout(-1);
    // Requests asks again until its deadline, which may be earlier than the request time-out.
    config.setConnectionTimeout(wait(uri.requestTimeout().dividedBy(4)));
    config.setValidationTimeout(wait(uri.requestTimeout().dividedBy(4)));
    config.setIdleTimeout(MAX_IDLE.toMillis());
    config.setMinimumIdle(0);
    return config;
  }

  private static long wait(Duration time) {
    return Math.max(MIN_WAIT_MILLIS, Math.min(Integer.MAX_VALUE, time.toMillis()));
  }

  void close() {
    driver.close();
    connections.close();
  }
}
