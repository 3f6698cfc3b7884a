package dev.interlock.jdbc;

import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
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

/** Opens backends on data sources of programs. */
final class BackendOpener {

  private static final Logger log = LoggerFactory.getLogger(BackendOpener.class);

  /** Leaves time to load a driver and to log in for the first time. */
  private static final Duration FIRST_CONNECTION_TIMEOUT = Duration.ofSeconds(10);

  private static final Pattern ADDRESS = Pattern.compile("jdbc:(?:[^/?;]*//)?([^?;]*).*");

  private BackendOpener() {}

  /** Opens a backend on a data source of the program. */
  static LockBackend ofProgram(DataSource source, JdbcSettings settings, BackendContext context) {
    Connections connections = Connections.ofProgram(source, context.time());
    try {
      Server server = identify(connections, settings, context);
      if (!connections.mayHave(2)) {
        log.warn(
            "{} at {}: the pool has only one connection, so a program that occupies it for long"
                + " loses its leases; give the pool at least {} connections",
            server.database.scheme(),
            server.endpoint,
            server.database == JdbcDatabase.POSTGRESQL ? PostgreSqlListener.MIN_CONNECTIONS : 2);
      }
      return new JdbcBackend(
          server.database, server.endpoint, settings, connections, connections, () -> {}, context);
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
      throw failures.interrupted(e);
    }
  }

  private static Server identify(DatabaseMetaData metaData, Failures failures) throws SQLException {
    String product = metaData.getDatabaseProductName();
    JdbcDatabase database =
        JdbcDatabase.ofProduct(product)
            .orElseThrow(
                () ->
                    failures.misconfigured(
                        "is "
                            + product
                            + "; locks can be kept in "
                            + Arrays.stream(JdbcDatabase.values())
                                .map(JdbcDatabase::product)
                                .collect(Collectors.joining(", ")),
                        null));
    return new Server(database, address(metaData.getURL()));
  }

  /** Returns the server and database in a JDBC URL, without its parameters and without a login. */
  private static String address(@Nullable String url) {
    Matcher matcher = ADDRESS.matcher(url == null ? "" : url);
    String address = matcher.matches() ? matcher.group(1) : "";
    String shown = address.substring(address.lastIndexOf('@') + 1);
    return shown.isEmpty() ? "the data source" : shown;
  }
}
