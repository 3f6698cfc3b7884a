package dev.interlock.redis.server;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.FileBacked;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.SslOptions;

/**
 * The connection settings of a URI: TLS ({@code caCert}), time-outs ({@code connectTimeout}), user
 * and password. Reads the files that the URI names, and does no other I/O. Every method throws
 * {@link LockConfigurationException} if the URI is wrong.
 */
public final class ServerUri {

  /** The default port of Redis. */
  public static final int REDIS_PORT = 6379;

  /** The prefix of keys and channels. */
  public static final UriParameter<String> NAMESPACE =
      UriParameter.text(
          "namespace",
          "interlock",
          "The prefix of every key and channel, before a colon. Clients that share locks must use"
              + " the same.");

  /** The time for which servers remember the last token of a name. */
  public static final UriParameter<Duration> FENCE_RETENTION =
      UriParameter.duration(
          "fenceRetention",
          "1h",
          "The time for which the last fencing token of a name is remembered after its last lease.");

  private static final UriParameter<Duration> CONNECT_TIMEOUT =
      UriParameter.duration(
          "connectTimeout",
          "the time-out of a request",
          "How long connecting to a server may take.");

  private static final UriParameter<Path> CA_CERT =
      UriParameter.file(
          "caCert",
          "the JVM's authorities",
          "With TLS: a PEM file with the authorities to trust in place of the JVM's.");

  /** The parameters of every scheme, without {@link #DATABASE}. */
  public static final List<UriParameter<?>> PARAMETERS =
      List.of(NAMESPACE, FENCE_RETENTION, CONNECT_TIMEOUT, CA_CERT, LockUri.PASSWORD);

  private static final int LAST_DATABASE = 1_000_000;

  /** The number of the database, for schemes whose path is something else. */
  public static final UriParameter<Integer> DATABASE =
      UriParameter.integer("database", 0, LAST_DATABASE, "0", "The number of the database.");

  private final LockUri uri;
  private final boolean tls;
  private final Duration requestTimeout;
  private final Duration connectTimeout;
  private final @Nullable Path caCert;

  /**
   * Reads the connection settings of a URI.
   *
   * @param uri the URI; schemes that begin with {@code redlocks} or {@code rediss} use TLS
   * @param requestTimeout the time-out of a reply and, by default, of connecting
   */
  public ServerUri(LockUri uri, Duration requestTimeout) {
    this.uri = uri;
    this.tls = uri.scheme().matches("redis(s|s-.*)|redlocks");
    this.requestTimeout = requestTimeout;
    this.connectTimeout = uri.get(CONNECT_TIMEOUT).orElse(requestTimeout);
    this.caCert = uri.get(CA_CERT).orElse(null);
    if (caCert != null && !tls) {
      String scheme = uri.scheme().replaceFirst("^(redis|redlock)", "$1s");
      throw wrong("caCert is for TLS; write " + scheme + "://", null);
    }
    if (uri.user().isPresent() && uri.password().isEmpty()) {
      throw wrong(
          "there is a user but no password; write user:password@host, or :password@host for the"
              + " default user",
          null);
    }
  }

  /**
   * {@return the failure of a URI that is wrong}
   *
   * @param problem the end of the sentence "redis URI: …"
   * @param cause the cause, if there is one
   */
  public LockConfigurationException wrong(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(uri.scheme() + " URI: " + problem, cause);
  }

  /** {@return whether connections use TLS} */
  public boolean tls() {
    return tls;
  }

  /**
   * {@return the addresses in the order of the URI, each once}
   *
   * @param defaultPort the port of an address without one
   */
  public Set<HostAndPort> addresses(int defaultPort) {
    return uri.endpoints(defaultPort).stream()
        .map(endpoint -> new HostAndPort(endpoint.host(), endpoint.port()))
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  /** {@return the number of the database in the path; 0 if there is no path} */
  public int databaseInPath() {
    String digits = pathWithoutSlash();
    if (digits.isEmpty()) {
      return 0;
    }
    int database = digits.matches("\\d{1,7}") ? Integer.parseInt(digits) : -1;
    if (database < 0 || database > LAST_DATABASE) {
      throw wrong(
          "the path must be the number of a database, such as /3, not \"/" + digits + "\"", null);
    }
    return database;
  }

  /** {@return the parameter {@code database}; 0 if there is none} */
  public int databaseParameter() {
    return uri.get(DATABASE).orElse(0);
  }

  /** {@return the path without its first slash; possibly empty} */
  public String pathWithoutSlash() {
    String path = uri.path();
    return path.startsWith("/") ? path.substring(1) : path;
  }

  /** {@return the settings for servers and sentinels alike, without user and password} */
  public DefaultJedisClientConfig.Builder connection() {
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .clientName("interlock")
            // CLIENT SETINFO would need one more right, which servers before 7.2 do not know.
            .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
            .connectionTimeoutMillis(millis(connectTimeout))
            .socketTimeoutMillis(millis(requestTimeout));
    if (tls) {
      config.sslOptions(caCert == null ? SslOptions.defaults() : trusting(caCert));
    }
    return config;
  }

  /**
   * {@return the settings for the servers that keep the locks}
   *
   * @param database the number of the database
   */
  public DefaultJedisClientConfig clientConfig(int database) {
    return login(connection().database(database), uri.user(), uri::password);
  }

  /**
   * {@return the settings for logging in as a user} The password is read anew for each connection,
   * because it may be in a file that is replaced.
   *
   * @param config the other settings
   * @param user the user; empty for the default user
   * @param password reads the password; empty for a server that asks for none
   */
  public static DefaultJedisClientConfig login(
      DefaultJedisClientConfig.Builder config,
      Optional<String> user,
      Supplier<Optional<String>> password) {
    if (password.get().isPresent()) {
      config.credentialsProvider(
          () -> new DefaultRedisCredentials(user.orElse(null), password.get().orElse(null)));
    }
    return config.build();
  }

  private static int millis(Duration duration) {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(1, duration.toMillis()));
  }

  private SslOptions trusting(Path file) {
    try {
      FileBacked<byte[]> store = new FileBacked<>(List.of(file), ServerUri::trustStore);
      // Jedis reads it for each connection.
      return SslOptions.builder()
          .trustStoreType("JKS")
          .truststore(() -> new ByteArrayInputStream(store.get()), null)
          .build();
    } catch (IOException | GeneralSecurityException e) {
      throw wrong(
          "caCert must be a readable file with X.509 certificates in PEM form, and \"%s\" is not: %s"
              .formatted(file, e),
          e);
    }
  }

  /** Creates a trust store in its stored form, the only one that Jedis takes. */
  private static byte[] trustStore(List<byte[]> contents)
      throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("JKS");
    store.load(null, null);
    InputStream pem = new ByteArrayInputStream(contents.get(0));
    for (Certificate authority :
        CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
      store.setCertificateEntry("authority-" + store.size(), authority);
    }
    if (store.size() == 0) {
      throw new CertificateException("the file contains no certificate");
    }
    ByteArrayOutputStream stored = new ByteArrayOutputStream();
    store.store(stored, new char[0]);
    return stored.toByteArray();
  }
}
