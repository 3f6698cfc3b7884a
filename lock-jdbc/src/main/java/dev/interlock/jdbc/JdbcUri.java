package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.LockUri.Endpoint;
import dev.interlock.spi.UriParameter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;

/**
 * Reads the URIs of this module's schemes, without any I/O but that of its files. The constructor
 * throws {@link LockConfigurationException} if the URI is wrong.
 */
final class JdbcUri {

  private static final int DEFAULT_CONNECTIONS = 8;

  /**
   * One in memory lasts as long as its JVM: H2 cannot close it with the last connection while the
   * next one is being made.
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
          "For how long, at least, the last fencing token of a name is remembered after the end of"
              + " its last lease.");

  private static final UriParameter<Integer> MAX_CONNECTIONS =
      UriParameter.integer(
          "maxConnections",
          1,
          1_000,
          Integer.toString(DEFAULT_CONNECTIONS),
          "The most connections. They are made when needed, and closed when they have not been used"
              + " for a minute. On PostgreSQL there is one more while a thread waits.");

  /** How much TLS, in PostgreSQL's words. */
  private enum Tls {
    DISABLE("disable", "disable", "DISABLED"),
    REQUIRE("require", "trust", "REQUIRED"),
    VERIFY_CA("verify-ca", "verify-ca", "VERIFY_CA"),
    VERIFY_FULL("verify-full", "verify-full", "VERIFY_IDENTITY");

    final String name;
    final String maria;
    final String mysql;

    Tls(String name, String maria, String mysql) {
      this.name = name;
      this.maria = maria;
      this.mysql = mysql;
    }

    static Tls of(String text) {
      for (Tls tls : values()) {
        if (tls.name.equals(text)) {
          return tls;
        }
      }
      throw new IllegalArgumentException(
          "must be disable, require, verify-ca or verify-full, not \"" + text + "\"");
    }
  }

  private static final UriParameter<Tls> SSL_MODE =
      UriParameter.of(
          "sslmode",
          "disable, require, verify-ca or verify-full",
          null,
          "Whether to use TLS, and whether to check the server's certificate, and its name, too."
              + " Without it the driver decides.",
          Tls::of);

  private static final UriParameter<Path> CA_CERT =
      UriParameter.file(
          "caCert",
          null,
          "A PEM file with the certificate that the server's is checked with (sslmode=verify-ca or"
              + " verify-full).");

  private final LockUri uri;
  private final JdbcDatabase database;
  private final JdbcSettings settings;
  private final Duration requestTimeout;
  private final int maxConnections;
  private final String url;
  private final String endpoint;
  private final Properties properties = new Properties();

  /** Returns the parameters that URIs of a database take. */
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

  JdbcUri(LockUri uri, Duration requestTimeout) {
    this.uri = uri;
    this.requestTimeout = requestTimeout;
    this.database = JdbcDatabase.ofScheme(uri.scheme());
    this.maxConnections = uri.get(MAX_CONNECTIONS).orElse(DEFAULT_CONNECTIONS);
    JdbcSettings.Builder builder = JdbcSettings.builder();
    uri.get(TABLE).ifPresent(builder::table);
    uri.get(CREATE_SCHEMA).ifPresent(builder::createSchema);
    uri.get(FENCE_RETENTION).ifPresent(builder::fenceRetention);
    this.settings = builder.build();
    var unused = uri.password(); // it can be read
    if (database == JdbcDatabase.H2) {
      this.url = h2Url();
      this.endpoint = url.substring("jdbc:h2:".length()).replaceFirst(";.*", "");
      properties.setProperty("user", uri.user().orElse("sa"));
    } else {
      List<Endpoint> servers = uri.endpoints(database.port());
      if (servers.size() > 1 && database != JdbcDatabase.POSTGRESQL) {
        throw wrong("must have one host, not " + servers.size());
      }
      String name = uri.path().replaceFirst("^/", "");
      if (name.isEmpty() || !name.matches("[\\p{L}\\p{N}_.$-]+")) {
        throw wrong(
            "the path must be the name of a database, such as "
                + uri.scheme()
                + "://user:password@host/database");
      }
      String hosts = servers.stream().map(Endpoint::toString).collect(Collectors.joining(","));
      this.url = "jdbc:" + uri.scheme() + "://" + hosts + "/" + name;
      this.endpoint = hosts + "/" + name;
      uri.user().ifPresent(user -> properties.setProperty("user", user));
      if (database == JdbcDatabase.POSTGRESQL) {
        postgreSql(servers.size() > 1);
      } else {
        maria();
      }
    }
  }

  private String h2Url() {
    String path = uri.path();
    if (path.indexOf(';') >= 0) {
      throw wrong("settings of H2 (after a semicolon) are not taken; use JdbcLocks.using");
    }
    if (!path.startsWith("/")) {
      if (!path.matches("(mem|file):.+")) {
        throw wrong("write h2:mem:NAME, h2:file:/PATH or h2://host:9092/NAME");
      }
      return "jdbc:h2:" + path + H2_SETTINGS;
    }
    if (path.length() < 2) {
      throw wrong("the database's name is missing; write h2://host:9092/NAME");
    }
    return "jdbc:h2:tcp://"
        + uri.endpoints(database.port()).get(0)
        + path
        + H2_SETTINGS
        + ";NETWORK_TIMEOUT="
        + requestTimeout.toMillis();
  }

  private void postgreSql(boolean several) {
    String seconds = Long.toString(Math.max(1, requestTimeout.plusMillis(999).toSeconds()));
    properties.setProperty("connectTimeout", seconds);
    properties.setProperty("socketTimeout", seconds);
    properties.setProperty("loginTimeout", seconds);
    properties.setProperty("tcpKeepAlive", "true");
    properties.setProperty("ApplicationName", "interlock");
    if (several) {
      properties.setProperty("targetServerType", "primary");
    }
    uri.get(SSL_MODE).ifPresent(tls -> properties.setProperty("sslmode", tls.name));
    uri.get(CA_CERT).ifPresent(file -> properties.setProperty("sslrootcert", file.toString()));
  }

  private void maria() {
    String millis = Long.toString(Math.max(1, requestTimeout.toMillis()));
    properties.setProperty("connectTimeout", millis);
    properties.setProperty("socketTimeout", millis);
    boolean mysql = database == JdbcDatabase.MYSQL;
    uri.get(SSL_MODE)
        .ifPresent(tls -> properties.setProperty("sslMode", mysql ? tls.mysql : tls.maria));
    if (!mysql) {
      uri.get(CA_CERT).ifPresent(file -> properties.setProperty("serverSslCert", file.toString()));
    }
  }

  private LockConfigurationException wrong(String problem) {
    return new LockConfigurationException(uri.scheme() + " URI: " + problem);
  }

  JdbcDatabase database() {
    return database;
  }

  JdbcSettings settings() {
    return settings;
  }

  /** {@return the URL for the driver} */
  String url() {
    return url;
  }

  /** {@return the address and the database, without user and password} */
  String endpoint() {
    return endpoint;
  }

  /**
   * {@return the driver's properties for one connection, the present password among them: it may be
   * in a file that is replaced}
   */
  Properties properties() {
    Properties copy = new Properties();
    copy.putAll(properties);
    uri.password().ifPresent(password -> copy.setProperty("password", password));
    return copy;
  }

  Duration requestTimeout() {
    return requestTimeout;
  }

  int maxConnections() {
    return maxConnections;
  }
}
