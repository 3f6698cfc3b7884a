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
 * scheme://[[user]:password@]host[:port],...[/path][?query]}, of which the first address counts.
 *
 * @param text the URI as it was named; may hold a password
 * @param tls what is trusted if the scheme asks for TLS
 * @param host the first host
 * @param port its port
 * @param path what follows the addresses, with its slash; empty if there is none
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
   * Takes the URI apart.
   *
   * @param scheme the scheme without TLS
   * @throws TestbedException if it is not of this scheme, with or without TLS, or not of this form;
   *     the message does not repeat it
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

  /** {@return the scheme that says the same with TLS: {@code rediss-cluster}, {@code redlocks}} */
  public static String withTls(String scheme) {
    return scheme.startsWith("redis") ? scheme.replaceFirst("redis", "rediss") : scheme + "s";
  }

  /** Percent-encodes a part; the JDK's own encoding is that of HTML forms, with {@code +}. */
  public static String encode(String part) {
    return URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static String decode(String part) {
    return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** {@return the first address, without what may be secret} */
  @Override
  public String toString() {
    return host + ":" + port;
  }
}
