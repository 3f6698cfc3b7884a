package dev.interlock.testbed.redis;

import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.TlsTrust;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The address of one Redis server, with a login. */
record RedisEndpoint(
    String host,
    int port,
    @Nullable String user,
    @Nullable String password,
    @Nullable TlsTrust tls) {

  /** The port of an address without one. */
  static final int PORT = 6379;

  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(5);

  /** {@return the first server that a URI of the user names} */
  static RedisEndpoint of(EndpointUri uri) {
    return new RedisEndpoint(uri.host(), uri.port(), uri.user(), uri.password(), uri.tls());
  }

  /** {@return the URI for lock clients, with the password} */
  String uri() {
    return uri("redis", address(), "");
  }

  /**
   * {@return a URI for several servers with the login of this one}
   *
   * @param scheme the scheme without TLS
   * @param path the part after the addresses
   */
  String uri(String scheme, String addresses, String path) {
    String login = userInfo();
    return tls == null
        ? scheme + "://" + login + addresses + path
        : EndpointUri.withTls(scheme) + "://" + login + addresses + path + tls.query();
  }

  /** {@return {@code user:password@}, or empty without a login} */
  private String userInfo() {
    return password == null
        ? ""
        : (user == null ? "" : EndpointUri.encode(user)) + ":" + EndpointUri.encode(password) + "@";
  }

  Optional<Path> caCertificate() {
    return tls == null ? Optional.empty() : tls.certificates();
  }

  String address() {
    return host + ":" + port;
  }

  /** {@return whether the server answers PING; false while it loads its data} */
  boolean ready(Duration limit) throws IOException {
    try (RedisConnection connection = new RedisConnection(this, limit)) {
      return "PONG".equals(connection.call("PING"));
    } catch (RedisReplyException loading) {
      return false;
    }
  }

  String version() throws IOException {
    return field(call("INFO", "server"), "redis_version");
  }

  /** Sends one command on a new connection; see {@link RedisServer#call}. */
  @Nullable Object call(String... command) throws IOException {
    try (RedisConnection connection = new RedisConnection(this, ANSWER_TIMEOUT)) {
      return connection.call(command);
    }
  }

  /** {@return a field of INFO, or of CLUSTER INFO, which has the same form} */
  static String field(@Nullable Object info, String name) throws IOException {
    for (String line : List.of(String.valueOf(info).split("\r?\n"))) {
      if (line.startsWith(name + ":")) {
        return line.substring(name.length() + 1).strip();
      }
    }
    throw new IOException("the server's INFO has no field " + name);
  }

  /** {@return the map in a reply in which names and values alternate} */
  static Map<String, String> map(@Nullable Object reply) throws IOException {
    List<?> words = list(reply);
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i + 1 < words.size(); i += 2) {
      map.put(String.valueOf(words.get(i)), String.valueOf(words.get(i + 1)));
    }
    return map;
  }

  static List<?> list(@Nullable Object reply) throws IOException {
    if (reply instanceof List<?> list) {
      return list;
    }
    throw new IOException("the reply is not a list: " + reply);
  }

  @Override
  public String toString() {
    return address();
  }
}
