package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.LockUri.Endpoint;
import dev.interlock.spi.UriParameter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.stream.Collectors;

/**
 * The settings in a URI for a database.
 *
 * @param uri the URI
 * @param database the database that its scheme means
 * @param settings the settings of the table
 * @param requestTimeout the time-out of a request
 * @param maxConnections the size of the pool
 * @param url the URL for the driver
 * @param endpoint the address and the database, without user and password
 * @param basics the driver's properties, without the password
 */
record JdbcUri(
    LockUri uri,
    JdbcDatabase database,
    JdbcSettings settings,
    Duration requestTimeout,
    int maxConnections,
    String url,
    String endpoint,
    Properties basics) {

  private static final int DEFAULT_CONNECTIONS = 8;

  /**
   * A database in memory lasts as long as its JVM, because H2 cannot close it with the last
   * connection while the next one is being made.
   */
  private static final String H2_SETTINGS = ";LOCK_TIMEOUT=1000;DB_CLOSE_DELAY=-1";

  private static final UriParameter<String> TABLE =
      UriParameter.text(
          "table",
          JdbcSettings.defaults().table(),
          "The table that holds the locks, with its schema before a dot if needed.");

  private static final UriParameter<Boolean> CREATE_SCHEMA =
      UriParameter.flag(
          "createSchema",
          JdbcSettings.defaults().createSchema(),
          "Whether to create the table if it is missing.");

  private static final UriParameter<Duration> FENCE_RETENTION =
      UriParameter.duration(
          "fenceRetention",
          "1h",
          "The minimum time for which the last fencing token of a name is remembered after its last"
              + " lease.");

  private static final UriParameter<Integer> MAX_CONNECTIONS =
      UriParameter.integer(
          "maxConnections",
          1,
          1_000,
          Integer.toString(DEFAULT_CONNECTIONS),
          "The maximum number of connections. They are made when needed, and closed after a minute"
              + " without use. On PostgreSQL there is one more while a thread waits for a lock.");

  /** The TLS modes, in PostgreSQL's words. */
  private enum Tls {
    DISABLE("disable", "DISABLED"),
    REQUIRE("trust", "REQUIRED"),
    VERIFY_CA("verify-ca", "VERIFY_CA"),
    VERIFY_FULL("verify-full", "VERIFY_IDENTITY");

    final String maria;
    final String mysql;

    Tls(String maria, String mysql) {
      this.maria = maria;
      this.mysql = mysql;
    }

    String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Tls of(String text) {
      return Arrays.stream(values())
          .filter(tls -> tls.word().equals(text))
          .findFirst()
          .orElseThrow(
              () ->
                  new IllegalArgumentException(
                      "must be disable, require, verify-ca or verify-full, not \"" + text + "\""));
    }
  }

  private static final UriParameter<Tls> SSL_MODE =
      UriParameter.of(
          "sslmode",
          "disable, require, verify-ca or verify-full",
          null,
          "Whether to use TLS, to check the server's certificate, and to check the name in it."
              + " Without this parameter the driver decides.",
          Tls::of);

  private static final UriParameter<Path> CA_CERT =
      UriParameter.file(
          "caCert",
          null,
          "A PEM file with the certificate against which the server's certificate is checked"
              + " (sslmode=verify-ca or verify-full).");

  static List<UriParameter<?>> parameters(JdbcDatabase database) {
    List<UriParameter<?>> parameters =
        new ArrayList<>(
            List.of(LockUri.PASSWORD, TABLE, CREATE_SCHEMA, FENCE_RETENTION, MAX_CONNECTIONS));
    if (database != JdbcDatabase.H2) {
      parameters.add(SSL_MODE);
    }
    if (database == JdbcDatabase.POSTGRESQL || database == JdbcDatabase.MARIADB) {
      parameters.add(CA_CERT);
    }
    return List.copyOf(parameters);
  }

  /**
   * Reads a URI. The only I/O is the reading of its files.
   *
   * @throws LockConfigurationException if the URI is wrong
   */
  static JdbcUri read(LockUri uri, Duration requestTimeout) {
    JdbcDatabase database = JdbcDatabase.ofScheme(uri.scheme());
    JdbcSettings.Builder settings = JdbcSettings.builder();
    uri.get(TABLE).ifPresent(settings::table);
    uri.get(CREATE_SCHEMA).ifPresent(settings::createSchema);
    uri.get(FENCE_RETENTION).ifPresent(settings::fenceRetention);
    var unused = uri.password(); // fails if its file cannot be read
    String servers = database == JdbcDatabase.H2 ? "" : servers(uri, database);
    String url =
        database == JdbcDatabase.H2
            ? h2Url(uri, requestTimeout)
            : "jdbc:" + uri.scheme() + "://" + servers;
    return new JdbcUri(
        uri,
        database,
        settings.build(),
        requestTimeout,
        uri.get(MAX_CONNECTIONS).orElse(DEFAULT_CONNECTIONS),
        url,
        database == JdbcDatabase.H2
            ? url.substring("jdbc:h2:".length()).replaceFirst(";.*", "")
            : servers,
        basics(uri, database, requestTimeout));
  }

  private static String servers(LockUri uri, JdbcDatabase database) {
    List<Endpoint> servers = uri.endpoints(database.port());
    if (servers.size() > 1 && database != JdbcDatabase.POSTGRESQL) {
      throw wrong(uri, "must have one host, not " + servers.size());
    }
    String name = uri.path().replaceFirst("^/", "");
    if (name.isEmpty() || !name.matches("[\\p{L}\\p{N}_.$-]+")) {
      throw wrong(
          uri,
          "the path must be the name of a database, such as "
              + uri.scheme()
              + "://user:password@host/database");
    }
    return servers.stream().map(Endpoint::toString).collect(Collectors.joining(",")) + "/" + name;
  }

  private static String h2Url(LockUri uri, Duration requestTimeout) {
    String path = uri.path();
    if (path.indexOf(';') >= 0) {
      throw wrong(uri, "settings of H2 (after a semicolon) are not taken; use JdbcLocks.using");
    }
    if (!path.startsWith("/")) {
      if (!path.matches("(mem|file):.+")) {
        throw wrong(uri, "write h2:mem:NAME, h2:file:/PATH or h2://host:9092/NAME");
      }
      return "jdbc:h2:" + path + H2_SETTINGS;
    }
    if (path.length() < 2) {
      throw wrong(uri, "the database's name is missing; write h2://host:9092/NAME");
    }
    return "jdbc:h2:tcp://"
        + uri.endpoints(JdbcDatabase.H2.port()).get(0)
        + path
        + H2_SETTINGS
        + ";NETWORK_TIMEOUT="
        + requestTimeout.toMillis();
  }

  private static Properties basics(LockUri uri, JdbcDatabase database, Duration requestTimeout) {
    Properties basics = new Properties();
    uri.user().ifPresent(user -> basics.setProperty("user", user));
    String seconds = Long.toString(Math.max(1, requestTimeout.plusMillis(999).toSeconds()));
    String millis = Long.toString(Math.max(1, requestTimeout.toMillis()));
    switch (database) {
      case POSTGRESQL -> {
        basics.setProperty("connectTimeout", seconds);
        basics.setProperty("socketTimeout", seconds);
        basics.setProperty("loginTimeout", seconds);
        basics.setProperty("tcpKeepAlive", "true");
        basics.setProperty("ApplicationName", "interlock");
        if (uri.endpoints(database.port()).size() > 1) {
          basics.setProperty("targetServerType", "primary");
        }
        uri.get(SSL_MODE).ifPresent(tls -> basics.setProperty("sslmode", tls.word()));
        uri.get(CA_CERT).ifPresent(file -> basics.setProperty("sslrootcert", file.toString()));
      }
      case MARIADB -> {
        basics.setProperty("connectTimeout", millis);
        basics.setProperty("socketTimeout", millis);
        uri.get(SSL_MODE).ifPresent(tls -> basics.setProperty("sslMode", tls.maria));
        uri.get(CA_CERT).ifPresent(file -> basics.setProperty("serverSslCert", file.toString()));
      }
      case MYSQL -> {
        basics.setProperty("connectTimeout", millis);
        basics.setProperty("socketTimeout", millis);
        uri.get(SSL_MODE).ifPresent(tls -> basics.setProperty("sslMode", tls.mysql));
      }
      case H2 -> basics.putIfAbsent("user", "sa");
    }
    return basics;
  }

  private static LockConfigurationException wrong(LockUri uri, String problem) {
    return new LockConfigurationException(uri.scheme() + " URI: " + problem);
  }

  /**
   * {@return the driver's properties for one connection, with the current password, which may be in
   * a file that is replaced}
   */
  Properties properties() {
    Properties copy = new Properties();
    copy.putAll(basics);
    uri.password().ifPresent(password -> copy.setProperty("password", password));
    return copy;
  }
}
