package dev.interlock.testbed.redis;

import dev.interlock.testbed.server.TlsTrust;
import dev.interlock.testbed.server.Uris;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Where one Redis server listens and how to be let in. */
record RedisEndpoint(
    String host,
    int port,
    @Nullable String user,
    @Nullable String password,
    @Nullable TlsTrust tls) {

  /**
   * Reads {@code redis[s]://[[user]:password@]host[:port][/database][?caCert=file]}.
   *
   * @throws IllegalArgumentException if the text is not of this form; the password is not repeated
   */
  static RedisEndpoint parse(String text) {
    URI uri;
    try {
      uri = new URI(text);
    } catch (java.net.URISyntaxException e) {
      // The cause repeats the text, and the text may hold a password.
      throw new IllegalArgumentException("not a URI; expected redis://host:port");
    }
    boolean secured = "rediss".equals(uri.getScheme());
    if (!(secured || "redis".equals(uri.getScheme())) || uri.getHost() == null) {
      throw new IllegalArgumentException("not a plain Redis address; expected redis://host:port");
    }
    String user = null;
    String password = null;
    if (uri.getRawUserInfo() != null) {
      String[] parts = uri.getRawUserInfo().split(":", 2);
      user = parts[0].isEmpty() ? null : Uris.decode(parts[0]);
      password = parts.length == 2 ? Uris.decode(parts[1]) : null;
    }
    return new RedisEndpoint(
        uri.getHost(),
        uri.getPort() < 0 ? 6379 : uri.getPort(),
        user,
        password,
        secured ? TlsTrust.named(uri.getRawQuery()) : null);
  }

  /** The address as lock clients take it, password included. */
  String uri() {
    return uri("redis", address(), "");
  }

  /**
   * A URI for this server and others like it.
   *
   * @param scheme without TLS
   * @param path what follows the addresses
   */
  String uri(String scheme, String addresses, String path) {
    return tls == null
        ? scheme + "://" + userInfo() + addresses + path
        : withTls(scheme) + "://" + userInfo() + addresses + path + tls.query();
  }

  /** The scheme that says the same with TLS: {@code rediss-cluster}, {@code redlocks}. */
  static String withTls(String scheme) {
    return scheme.startsWith("redis") ? scheme.replaceFirst("redis", "rediss") : scheme + "s";
  }

  /** What stands before the address in a URI: empty, or user and password with an {@code @}. */
  private String userInfo() {
    return password == null
        ? ""
        : (user == null ? "" : Uris.encode(user)) + ":" + Uris.encode(password) + "@";
  }

  Optional<Path> caCertificate() {
    return tls == null ? Optional.empty() : tls.certificates();
  }

  String address() {
    return host + ":" + port;
  }

  /** Asks for PONG; a server that still loads its data answers, but is not ready. */
  boolean ready(Duration limit) throws IOException {
    try (RedisConnection connection = new RedisConnection(this, limit)) {
      return "PONG".equals(connection.call("PING"));
    } catch (RedisReplyException loading) {
      return false;
    }
  }

  String version(Duration limit) throws IOException {
    return field(call(limit, "INFO", "server"), "redis_version");
  }

  /** One command on a connection of its own. */
  @Nullable Object call(Duration limit, String... command) throws IOException {
    try (RedisConnection connection = new RedisConnection(this, limit)) {
      return connection.call(command);
    }
  }

  /** A field of INFO, or of CLUSTER INFO, which has the same form. */
  static String field(@Nullable Object info, String name) throws IOException {
    for (String line : List.of(String.valueOf(info).split("\r?\n"))) {
      if (line.startsWith(name + ":")) {
        return line.substring(name.length() + 1).strip();
      }
    }
    throw new IOException("the server's INFO has no field " + name);
  }

  @Override
  public String toString() {
    return address();
  }
}
