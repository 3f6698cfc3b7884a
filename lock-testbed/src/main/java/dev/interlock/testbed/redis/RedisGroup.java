package dev.interlock.testbed.redis;

import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.EndpointUri;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Several Redis servers behind one URI.
 *
 * @param members empty if the URI was named by the user
 */
record RedisGroup(String uri, String how, String version, List<RedisServer> members) {
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /**
   * Servers of ours.
   *
   * @param scheme without TLS
   * @param listed the servers that the URI lists
   * @param path what follows them in the URI
   */
  static RedisGroup of(
      List<RedisServer> members, String scheme, List<RedisServer> listed, String path) {
    RedisServer first = members.get(0);
    String addresses =
        listed.stream().map(s -> s.endpoint().address()).collect(Collectors.joining(","));
    String uri = first.endpoint().uri(scheme, addresses, path);
    return new RedisGroup(uri, first.how(), first.version(), members);
  }

  /**
   * Servers of the user's.
   *
   * @throws TestbedException if the URI is not of this scheme, with or without TLS, or if the first
   *     server does not answer
   */
  static RedisGroup named(String text, String scheme) {
    boolean secured = text.startsWith(RedisEndpoint.withTls(scheme) + "://");
    EndpointUri uri = EndpointUri.parse(text, secured ? RedisEndpoint.withTls(scheme) : scheme);
    String first = (secured ? "rediss://" : "redis://") + uri.first() + uri.query();
    try {
      String version = RedisEndpoint.parse(first).version(ANSWER);
      return new RedisGroup(text, "endpoint " + uri, version, List.of());
    } catch (IOException | IllegalArgumentException e) {
      throw new TestbedException("the named endpoint does not serve: " + e.getMessage(), e);
    }
  }

  Optional<Path> caCertificate() {
    return members.isEmpty() ? Optional.empty() : members.get(0).caCertificate();
  }

  void requireOurs() {
    if (members.isEmpty()) {
      throw new UnsupportedOperationException(
          "these servers were named by you; the testbed hurts only servers that it started."
              + " Unset them, or ask for forFaults()");
    }
  }

  @Override
  public String toString() {
    return how + " " + members;
  }
}
