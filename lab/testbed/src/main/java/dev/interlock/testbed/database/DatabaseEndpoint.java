package dev.interlock.testbed.database;

import dev.interlock.testbed.process.Sockets;
import dev.interlock.testbed.server.EndpointUri;
import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;

/**
 * The address of one database, with the login of a user.
 *
 * @param scheme the scheme of the URI, and of JDBC's URL after {@code jdbc:}
 */
record DatabaseEndpoint(
    String scheme, String host, int port, String database, String user, String password) {

  /** {@return the endpoint that a URI of the user names} */
  static DatabaseEndpoint of(EndpointUri uri, String scheme) {
    String login = uri.user();
    String password = uri.password();
    return new DatabaseEndpoint(
        scheme,
        uri.host(),
        uri.port(),
        uri.path().isEmpty() ? "" : uri.path().substring(1),
        login == null ? "" : login,
        password == null ? "" : password);
  }

  DatabaseEndpoint as(String otherUser, String otherPassword) {
    return new DatabaseEndpoint(scheme, host, port, database, otherUser, otherPassword);
  }

  /** {@return the URI for lock clients, with the password} */
  String uri() {
    return "%s://%s:%s@%s:%s/%s"
        .formatted(
            scheme,
            EndpointUri.encode(user),
            EndpointUri.encode(password),
            host,
            port,
            EndpointUri.encode(database));
  }

  String jdbcUrl() {
    return "jdbc:%s://%s:%s/%s".formatted(scheme, host, port, database);
  }

  Connection connect(Duration limit) throws SQLException {
    // PostgreSQL's driver takes seconds, MariaDB's takes milliseconds.
    long time = scheme.equals(PostgresServer.SCHEME) ? limit.toSeconds() : limit.toMillis();
    Properties properties = new Properties();
    properties.setProperty("user", user);
    properties.setProperty("password", password);
    properties.setProperty("connectTimeout", "" + time);
    properties.setProperty("socketTimeout", "" + time);
    return DriverManager.getConnection(jdbcUrl(), properties);
  }

  /** Connects without the driver, with a time-out. */
  Socket socket(Duration limit) throws IOException {
    return Sockets.connect(host, port, limit);
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return jdbcUrl();
  }
}
