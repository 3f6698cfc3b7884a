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

/** Connects anew each time, until it is closed. */
final class DriverDataSource implements DataSource, AutoCloseable {

  private final Driver driver;
  private final String url;
  private final Supplier<Properties> properties;
  private final Properties more = new Properties();
  private final int loginTimeoutSeconds;
  private volatile boolean closed;

  /**
   * Makes one that has not connected yet.
   *
   * @param properties gives the properties of one connection to the driver, which may change them
   * @param loginTimeoutSeconds how long the driver takes to connect at most; the properties say it
   *     to the driver, and this to the pool, which waits for it when it is closed
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
    throw new SQLFeatureNotSupportedException("there is one login for all connections");
  }

  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  public void setLogWriter(PrintWriter out) {
    // Drivers log in their own ways.
  }

  @Override
  public void setLoginTimeout(int seconds) {
    // The properties say it.
  }

  @Override
  public int getLoginTimeout() {
    return loginTimeoutSeconds;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException("there is none");
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
