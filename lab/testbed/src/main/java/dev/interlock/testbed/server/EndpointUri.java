package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A URI that the user named, of the form {@code
 * scheme://[[user]:password@]host[:port],...[/path][?query]}. The testbed uses its first address.
 *
 * @param text the URI as the user named it; may contain a password
 * @param tls the trusted certificates if the scheme requires TLS
 * @param host the first host
 * @param port the port of the first host
 * @param path the part after the addresses, with its slash; empty if there is none
 */
public record EndpointUri(
    String text,
    @Nullable String user,
    @Nullable String password,
    String host,
    int port,
    String path,
    @Nullable TlsTrust tls) {
  private static final Pattern FORM =
      Pattern.compile(
          "://(?:(?<user>[^:@,/?]*)(?::(?<password>[^@,/?]*))?@)?"
              + "(?<host>\\[[^]]+]|[^:@,/?]+)(?::(?<port>\\d{1,5}))?(?:,[^/?]*)?"
              + "(?<path>/[^?]*)?(?:\\?.*)?");
  private static final Pattern CA_CERT = Pattern.compile("[?&]caCert=([^&]*)");

  /**
   * Parses a URI.
   *
   * @param scheme the scheme without TLS
   * @throws TestbedException if it has another scheme or another form; the message does not repeat
   *     the URI
   */
  public static EndpointUri parse(String text, String scheme, int defaultPort) {
    boolean secured = text.startsWith(withTls(scheme) + "://");
    String prefix = secured ? withTls(scheme) : scheme;
    if (!text.startsWith(prefix + "://")) {
      throw new TestbedException("the named endpoint must begin with " + prefix + "://");
    }
    Matcher form = FORM.matcher(text.substring(prefix.length()));
    if (!form.matches()) {
      throw new TestbedException(
          "the named endpoint must have the form " + prefix + "://host:port");
    }
    String user = form.group("user");
    String password = form.group("password");
    String port = form.group("port");
    String path = form.group("path");
    Matcher file = CA_CERT.matcher(text);
    return new EndpointUri(
        text,
        user == null || user.isEmpty() ? null : decode(user),
        password == null ? null : decode(password),
        form.group("host"),
        port == null ? defaultPort : Integer.parseInt(port),
        path == null ? "" : path,
        secured ? TlsTrust.named(file.find() ? decode(file.group(1)) : null) : null);
  }

  /** {@return the scheme for TLS, such as {@code rediss-cluster} or {@code redlocks}} */
  public static String withTls(String scheme) {
    return scheme.startsWith("redis") ? scheme.replaceFirst("redis", "rediss") : scheme + "s";
  }

  /** Percent-encodes a part of a URI. (The JDK's encoder is for HTML forms, with {@code +}.) */
  public static String encode(String part) {
    return URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static String decode(String part) {
    return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** {@return the first address, without user and password} */
  @Override
  public String toString() {
    return host + ":" + port;
  }
}
