package dev.interlock.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Properties;
import java.util.function.Supplier;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A data source without a pool: it makes a new connection each time, until it is closed. */
final class DriverDataSource implements DataSource, AutoCloseable {

  private final Driver driver;
  private final String url;
  private final Supplier<Properties> properties;
  private final Properties more = new Properties();
  private final int loginTimeoutSeconds;
  private volatile boolean closed;

  /**
   * Creates a data source that has not connected yet.
   *
   * @param properties supplies the properties of one connection to the driver, which may change
   *     them
   * @param loginTimeoutSeconds the maximum time in which the driver connects, for the pool, which
   *     waits for it when it is closed; the driver itself reads it from the properties
   */
  DriverDataSource(
      Driver driver, String url, Supplier<Properties> properties, int loginTimeoutSeconds) {
    this.driver = driver;
    this.url = url;
    this.properties = properties;
    this.loginTimeoutSeconds = loginTimeoutSeconds;
  }

  /** Sets a property of the driver for all further connections. */
  void setProperty(String name, String value) {
    more.setProperty(name, value);
  }

  @Override
  public Connection getConnection() throws SQLException {
    if (closed) {
      throw new SQLException("closed");
    }
    Properties all = properties.get();
    all.putAll(more);
    Connection connection = driver.connect(url, all);
    if (connection == null) {
      throw new SQLException("the driver " + driver.getClass().getName() + " refuses the URL");
    }
    if (closed) {
      connection.close();
      throw new SQLException("closed");
    }
    return connection;
  }

  @Override
  public Connection getConnection(String user, String password) throws SQLException {
    throw new SQLFeatureNotSupportedException("all connections have the same login");
  }

  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  public void setLogWriter(PrintWriter out) {
    // The drivers have logs of their own.
  }

  @Override
  public void setLoginTimeout(int seconds) {
    // The properties contain it.
  }

  @Override
  public int getLoginTimeout() {
    return loginTimeoutSeconds;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException("there is no parent logger");
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLException("this wraps nothing");
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return false;
  }

  @Override
  public void close() {
    closed = true;
  }
}
