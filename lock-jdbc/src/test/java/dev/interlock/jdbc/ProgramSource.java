package dev.interlock.jdbc;

import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.jspecify.annotations.Nullable;

/** A data source that a program could write, reduced to its connections. */
interface ProgramSource extends DataSource {

  /** {@return a source of connections to a database in memory} */
  static DataSource h2(String name) {
    JdbcDataSource source = new JdbcDataSource();
    source.setUrl("jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1");
    source.setUser("sa");
    return source;
  }

  /** Replaces or wraps a call of a proxy's target. */
  interface Handler {
    @Nullable Object invoke(Method method, Object @Nullable [] arguments) throws Exception;
  }

  /** {@return a proxy that passes on the exceptions of the target's methods} */
  static <T> T proxy(Class<T> type, Handler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            ProgramSource.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              try {
                return handler.invoke(method, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  /** {@return the connection with a {@code close} that does nothing} */
  static Connection unclosed(Connection connection) {
    return proxy(
        Connection.class,
        (method, arguments) ->
            method.getName().equals("close") ? null : method.invoke(connection, arguments));
  }

  @Override
  default Connection getConnection(String user, String password) throws SQLException {
    return getConnection();
  }

  @Override
  default @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  default void setLogWriter(@Nullable PrintWriter out) {}

  @Override
  default void setLoginTimeout(int seconds) {}

  /** Returns the time for which a closing HikariCP waits for a connection that is being made. */
  @Override
  default int getLoginTimeout() {
    return 10;
  }

  @Override
  default Logger getParentLogger() {
    return Logger.getGlobal();
  }

  @Override
  default <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLException("nothing to unwrap");
  }

  @Override
  default boolean isWrapperFor(Class<?> type) {
    return false;
  }
}
