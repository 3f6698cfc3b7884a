package dev.interlock.jdbc;

import dev.interlock.LockException;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.TimeSource;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The first contact with a database. */
final class BackendOpener {

  private static final Logger log = LoggerFactory.getLogger(BackendOpener.class);

  /** A pool may load a driver, and log in for the first time. */
  private static final Duration FIRST_CONNECTION_TIMEOUT = Duration.ofSeconds(10);

  private static final Pattern ADDRESS = Pattern.compile("jdbc:(?:[^/?;]*//)?([^?;]*).*");

  private BackendOpener() {}

  /** Opens a backend on a data source of the program. */
  static LockBackend ofProgram(DataSource source, JdbcSettings settings, BackendContext context) {
    Connections connections = Connections.ofProgram(source, context.time());
    try {
      Server server = identify(connections, settings, context);
      if (!connections.has(2)) {
        log.warn(
            "{} at {}: the pool has one connection only; a program that occupies it for long loses"
                + " its leases. Give the pool {} connections or more",
            server.database.scheme(),
            server.endpoint,
            server.database == JdbcDatabase.POSTGRESQL ? PostgreSqlListener.MIN_CONNECTIONS : 2);
      }
      return open(
          server.database,
          server.endpoint,
          connections,
          listener(server.database, connections, settings, server.endpoint, context.time()),
          settings,
          context,
          () -> {});
    } catch (RuntimeException | Error e) {
      connections.close();
      throw e;
    }
  }

  private record Server(JdbcDatabase database, String endpoint) {}

  private static Server identify(
      Connections connections, JdbcSettings settings, BackendContext context) {
    Failures failures = new Failures("database", "the data source", settings.table());
    Duration requestTimeout = context.options().requestTimeout();
    Deadline deadline =
        Deadline.in(
            context.time(),
            requestTimeout.compareTo(FIRST_CONNECTION_TIMEOUT) < 0
                ? FIRST_CONNECTION_TIMEOUT
                : requestTimeout);
    try {
      Borrowed borrowed =
          Requests.connect(connections, deadline, failures, new Requests.Attempts());
      return connections.use(
          borrowed,
          () -> {
            try {
              return identify(borrowed.connection.getMetaData(), failures);
            } catch (SQLException e) {
              throw failures.explain(e);
            } finally {
              connections.giveBack(borrowed, true);
            }
          });
    } catch (InterruptedException e) {
      throw interrupted(failures, e);
    }
  }

  private static Server identify(DatabaseMetaData metaData, Failures failures) throws SQLException {
    String product = metaData.getDatabaseProductName();
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
    return new Server(database, address(metaData.getURL()));
  }

  private static LockException interrupted(Failures failures, InterruptedException e) {
    Thread.currentThread().interrupt();
    return failures.passing("the thread was interrupted while it connected", e);
  }

  /** Without what may be a password. */
  private static String address(@Nullable String url) {
    Matcher matcher = ADDRESS.matcher(url == null ? "" : url);
    String address = matcher.matches() ? matcher.group(1) : "";
    String shown = address.substring(address.lastIndexOf('@') + 1);
    return shown.isEmpty() ? "the data source" : shown;
  }

  /**
   * Opens a backend.
   *
   * @param listener of releases
   * @param closing what to do when the client is closed
   */
  static LockBackend open(
      JdbcDatabase database,
      String endpoint,
      Connections connections,
      ReleaseListener listener,
      JdbcSettings settings,
      BackendContext context,
      Runnable closing) {
    Failures failures = new Failures(database.scheme(), endpoint, settings.table());
    Requests requests = new Requests(connections, database, failures, context.time());
    Schema schema = new Schema(database, settings, failures);
    Deadline deadline = Deadline.in(context.time(), context.options().requestTimeout());
    try {
      schema.ensure(requests, deadline);
      failures.noteAdmission();
      requests.detectPooler(deadline);
    } catch (InterruptedException e) {
      throw interrupted(failures, e);
    }
    return new JdbcBackend(
        database,
        endpoint,
        schema,
        new LockTable(database, settings),
        connections,
        requests,
        failures,
        listener,
        closing,
        context.time());
  }

  /**
   * {@return what listens to releases, if the database notifies}
   *
   * @param connections where the one comes from that listens
   */
  static ReleaseListener listener(
      JdbcDatabase database,
      Connections connections,
      JdbcSettings settings,
      String endpoint,
      TimeSource time) {
    if (database != JdbcDatabase.POSTGRESQL
        || !connections.has(PostgreSqlListener.MIN_CONNECTIONS)) {
      return ReleaseListener.NONE;
    }
    return PostgreSqlDriver.isPresent()
        ? new PostgreSqlListener(connections, settings.table(), endpoint, time)
        : ReleaseListener.NONE;
  }
}
