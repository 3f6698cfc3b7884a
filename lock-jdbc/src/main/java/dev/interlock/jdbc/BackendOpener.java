package dev.interlock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** The first contact with a database. */
final class BackendOpener {

  private static final Pattern ADDRESS = Pattern.compile("jdbc:[^/]*?(//)?([^?;]*).*");

  private BackendOpener() {}

  /** Opens a backend on a data source of the program. */
  static LockBackend ofProgram(DataSource source, JdbcSettings settings, BackendContext context) {
    Failures failures = new Failures("database", "the data source", settings.table());
    try (Connection connection = source.getConnection()) {
      String product = connection.getMetaData().getDatabaseProductName();
      JdbcDatabase database =
          JdbcDatabase.ofProduct(product)
              .orElseThrow(
                  () ->
                      failures.wrong(
                          "is "
                              + product
                              + "; locks can be kept in "
                              + Arrays.stream(JdbcDatabase.values())
                                  .map(JdbcDatabase::product)
                                  .collect(Collectors.joining(", ")),
                          null));
      String endpoint = address(connection.getMetaData().getURL());
      connection.close();
      return open(database, endpoint, source, source, settings, context, () -> {});
    } catch (SQLException e) {
      throw failures.explain(e);
    }
  }

  /** Without what may be a password. */
  private static String address(@Nullable String url) {
    Matcher matcher = ADDRESS.matcher(url == null ? "" : url);
    String address = matcher.matches() ? matcher.group(2) : "";
    String shown = address.substring(address.lastIndexOf('@') + 1);
    return shown.isEmpty() ? "the data source" : shown;
  }

  /**
   * Opens a backend.
   *
   * @param pool where each request borrows a connection
   * @param single where the connection comes from that listens to releases; the same if the pool is
   *     the program's
   * @param closing what to do when the client is closed
   */
  static LockBackend open(
      JdbcDatabase database,
      String endpoint,
      DataSource pool,
      DataSource single,
      JdbcSettings settings,
      BackendContext context,
      Runnable closing) {
    Dialect dialect = Dialect.of(database);
    Failures failures = new Failures(database.scheme(), endpoint, settings.table());
    Requests requests = new Requests(pool, pool != single, dialect, failures, context.time());
    Schema schema = new Schema(dialect, settings);
    Deadline deadline = Deadline.in(context.time(), context.options().requestTimeout());
    try {
      schema.ensure(requests, failures, deadline);
      failures.noteAdmission();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failures.passing("the thread was interrupted while it connected", e);
    }
    LockTable table =
        dialect == Dialect.POSTGRESQL
            ? new PostgreSqlTable(dialect, settings)
            : new LockTable(dialect, settings);
    return new JdbcBackend(
        dialect,
        endpoint,
        schema,
        table,
        requests,
        failures,
        listener(database, single, settings, endpoint),
        closing);
  }

  private static ReleaseListener listener(
      JdbcDatabase database, DataSource source, JdbcSettings settings, String endpoint) {
    if (database != JdbcDatabase.POSTGRESQL) {
      return ReleaseListener.NONE;
    }
    if (source instanceof HikariDataSource pool && pool.getMaximumPoolSize() == 1) {
      return ReleaseListener.NONE; // it would keep the only connection from all requests
    }
    try {
      Class.forName("org.postgresql.PGConnection", false, BackendOpener.class.getClassLoader());
      return new PostgreSqlListener(source, settings.table(), endpoint);
    } catch (ClassNotFoundException e) {
      return ReleaseListener.NONE; // another driver
    }
  }
}
