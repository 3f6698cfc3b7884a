package dev.interlock.tck.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A URI split around its addresses, with everything else unchanged: {@code
 * scheme://user:password@host:port,host:port/path?query}.
 */
final class StoreUri {

  private final String before;
  private final List<InetSocketAddress> addresses;
  private final String after;

  private StoreUri(String before, List<InetSocketAddress> addresses, String after) {
    this.before = before;
    this.addresses = addresses;
    this.after = after;
  }

  /** {@return empty if the URI has no addresses, or one has no port and there is no default} */
  static Optional<StoreUri> parse(String uri, int defaultPort) {
    int slashes = uri.indexOf("://");
    if (slashes < 0) {
      return Optional.empty();
    }
    int question = uri.indexOf('?');
    int end = question < 0 ? uri.length() : question;
    // Passwords may contain slashes and even @: the last @ before the query ends them.
    int at = uri.lastIndexOf('@', end - 1);
    int start = Math.max(slashes + 3, at + 1);
    int slash = uri.indexOf('/', start);
    if (slash >= 0 && slash < end) {
      end = slash;
    }
    List<InetSocketAddress> addresses = new ArrayList<>();
    for (String text : uri.substring(start, end).split(",", -1)) {
      Optional<InetSocketAddress> address = address(text, defaultPort);
      if (address.isEmpty()) {
        return Optional.empty();
      }
      addresses.add(address.get());
    }
    return Optional.of(new StoreUri(uri.substring(0, start), addresses, uri.substring(end)));
  }

  private static Optional<InetSocketAddress> address(String text, int defaultPort) {
    int bracket = text.lastIndexOf(']');
    int colon = text.indexOf(':', Math.max(0, bracket));
    String host = colon < 0 ? text : text.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    }
    int port = defaultPort;
    if (colon >= 0) {
      String digits = text.substring(colon + 1);
      port = digits.matches("\\d{1,5}") ? Integer.parseInt(digits) : 0;
    }
    return host.isEmpty() || port < 1 || port > 65_535
        ? Optional.empty()
        : Optional.of(new InetSocketAddress(host, port));
  }

  /** {@return user and password of a URI, a password, or nothing} */
  static List<String> credentials(String uri) {
    String userInfo = URI.create(uri).getRawUserInfo();
    return userInfo == null
        ? List.of()
        : Arrays.stream(userInfo.split(":", 2))
            .filter(part -> !part.isEmpty())
            .map(part -> URLDecoder.decode(part.replace("+", "%2B"), UTF_8))
            .toList();
  }

  List<InetSocketAddress> addresses() {
    return addresses;
  }

  String withLocalPorts(List<Integer> ports) {
    return before
        + ports.stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(","))
        + after;
  }
}
