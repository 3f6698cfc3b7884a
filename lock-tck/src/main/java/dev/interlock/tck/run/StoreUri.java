package dev.interlock.tck.run;

import static java.util.stream.Collectors.joining;

import dev.interlock.spi.LockUri;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A URI split around its addresses, with everything else unchanged: {@code
 * scheme://user:password@host:port,host:port/path?query}.
 */
record StoreUri(String before, List<InetSocketAddress> addresses, String after) {

  // A password may contain slashes and even @, so it ends at the last @ before the query.
  private static final Pattern URI =
      Pattern.compile("(.*?://(?:[^?]*@)?)([^/?]*)(.*)", Pattern.DOTALL);

  private static final Pattern ADDRESS =
      Pattern.compile("(?:\\[([^\\[\\]]+)]|([^:\\[\\]]+))(?::(\\d{1,5}))?");

  /**
   * {@return the parts; empty if the URI has no addresses, or one lacks a port without a default}
   */
  static Optional<StoreUri> parse(String uri, int defaultPort) {
    Matcher parts = URI.matcher(uri);
    if (!parts.matches()) {
      return Optional.empty();
    }
    List<InetSocketAddress> addresses = new ArrayList<>();
    for (String text : parts.group(2).split(",", -1)) {
      Matcher address = ADDRESS.matcher(text);
      if (!address.matches()) {
        return Optional.empty();
      }
      String host = address.group(1) == null ? address.group(2) : address.group(1);
      int port = address.group(3) == null ? defaultPort : Integer.parseInt(address.group(3));
      if (port < 1 || port > 65_535) {
        return Optional.empty();
      }
      addresses.add(new InetSocketAddress(host, port));
    }
    return Optional.of(new StoreUri(parts.group(1), addresses, parts.group(3)));
  }

  /** {@return the user and password of a URI, or the password, or an empty list} */
  static List<String> credentials(String uri) {
    LockUri parsed = LockUri.parse(uri);
    return Stream.of(parsed.user(), parsed.password()).flatMap(Optional::stream).toList();
  }

  String withLocalPorts(List<Integer> ports) {
    return before + ports.stream().map(port -> "127.0.0.1:" + port).collect(joining(",")) + after;
  }
}
