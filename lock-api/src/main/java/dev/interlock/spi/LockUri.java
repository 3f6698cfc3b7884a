package dev.interlock.spi;

import dev.interlock.LockConfigurationException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where a store is, as text: {@code
 * scheme://user:password@host:port,host:port/path?name=value&name=value}, or {@code
 * scheme:path?name=value} for a store without an address. Unlike {@link java.net.URI} it takes
 * several hosts. User, password, path and parameters are percent-decoded.
 *
 * <p>Every reader of a part that does not fit throws {@link LockConfigurationException}, which
 * names the part and says what would be right. A parameter that nobody has read is a mistake of the
 * user's: {@link #requireAllRead()} refuses it. Passwords are never part of {@link #toString()} or
 * of a message.
 *
 * <p>Not thread-safe.
 */
public final class LockUri {

  private static final Pattern SCHEME = Pattern.compile("[a-zA-Z][a-zA-Z0-9+.-]*");

  /**
   * One address.
   *
   * @param host name or address; IPv6 without brackets
   * @param port the port, 1 to 65535
   */
  public record Endpoint(String host, int port) {
    @Override
    public String toString() {
      return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
  }

  private final String scheme;
  private final @Nullable String user;
  private final @Nullable String password;
  private final @Nullable String hosts;
  private final String path;
  private final Map<String, String> parameters;
  private final Set<String> read = new LinkedHashSet<>();

  private LockUri(
      String scheme,
      @Nullable String user,
      @Nullable String password,
      @Nullable String hosts,
      String path,
      Map<String, String> parameters) {
    this.scheme = scheme;
    this.user = user;
    this.password = password;
    this.hosts = hosts;
    this.path = path;
    this.parameters = parameters;
  }

  /**
   * Takes the text apart.
   *
   * @param text the URI
   * @return its parts
   * @throws LockConfigurationException if it is not of the form above
   */
  public static LockUri parse(String text) {
    int colon = text.indexOf(':');
    String scheme = colon < 0 ? "" : text.substring(0, colon);
    if (!SCHEME.matcher(scheme).matches()) {
      // The text is not repeated: what has no scheme may well be a password.
      throw new LockConfigurationException(
          "a lock URI starts with a scheme and a colon, such as redis://localhost:6379 or"
              + " memory:demo");
    }
    scheme = scheme.toLowerCase(Locale.ROOT);
    String rest = text.substring(colon + 1);

    Map<String, String> parameters = new LinkedHashMap<>();
    int question = rest.indexOf('?');
    if (question >= 0) {
      parseQuery(scheme, rest.substring(question + 1), parameters);
      rest = rest.substring(0, question);
    }
    if (!rest.startsWith("//")) {
      return new LockUri(scheme, null, null, null, decode(scheme, "path", rest), parameters);
    }
    rest = rest.substring(2);
    // The last @ ends the user part, wherever the first slash is: passwords are often pasted raw.
    int at = rest.lastIndexOf('@');
    String user = null;
    String password = null;
    if (at >= 0) {
      String login = rest.substring(0, at);
      rest = rest.substring(at + 1);
      int separator = login.indexOf(':');
      user = decode(scheme, "user", separator < 0 ? login : login.substring(0, separator));
      password = separator < 0 ? null : decode(scheme, "password", login.substring(separator + 1));
    }
    int slash = rest.indexOf('/');
    String hosts = slash < 0 ? rest : rest.substring(0, slash);
    String path = slash < 0 ? "" : rest.substring(slash);
    return new LockUri(scheme, user, password, hosts, decode(scheme, "path", path), parameters);
  }

  private static void parseQuery(String scheme, String query, Map<String, String> parameters) {
    for (String pair : query.split("&", -1)) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      if (equals <= 0) {
        throw new LockConfigurationException(
            scheme + " URI: parameters are written name=value, separated by &");
      }
      String name = decode(scheme, "parameter", pair.substring(0, equals));
      String value = decode(scheme, "parameter " + name, pair.substring(equals + 1));
      if (parameters.put(name, value) != null) {
        throw new LockConfigurationException(
            scheme + " URI: parameter " + name + " is given twice; give it once");
      }
    }
  }

  private static String decode(String scheme, String part, String text) {
    if (text.indexOf('%') < 0) {
      return text;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    for (int i = 0; i < text.length(); ) {
      int c = text.codePointAt(i);
      if (c == '%') {
        boolean complete = i + 2 < text.length();
        int high = complete ? Character.digit(text.charAt(i + 1), 16) : -1;
        int low = complete ? Character.digit(text.charAt(i + 2), 16) : -1;
        if (high < 0 || low < 0) {
          throw new LockConfigurationException(
              scheme
                  + " URI: % in the "
                  + part
                  + " must be followed by two hexadecimal digits;"
                  + " write % itself as %25");
        }
        bytes.write(high * 16 + low);
        i += 3;
      } else {
        bytes.writeBytes(Character.toString(c).getBytes(StandardCharsets.UTF_8));
        i += Character.charCount(c);
      }
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes.toByteArray()))
          .toString();
    } catch (CharacterCodingException e) {
      throw new LockConfigurationException(
          scheme + " URI: the percent-encoded bytes of the " + part + " are not UTF-8");
    }
  }

  /**
   * Returns the scheme, in lower case.
   *
   * @return the scheme
   */
  public String scheme() {
    return scheme;
  }

  /**
   * Returns the user before the {@code @}.
   *
   * @return the user; empty if there is none, or an empty one
   */
  public Optional<String> user() {
    return Optional.ofNullable(user).filter(name -> !name.isEmpty());
  }

  /**
   * Returns the password before the {@code @}.
   *
   * @return the password; empty if there is none, or an empty one
   */
  public Optional<String> password() {
    return Optional.ofNullable(password).filter(secret -> !secret.isEmpty());
  }

  /**
   * Returns what follows the address, from the first slash on; for a URI without {@code //}, all
   * that follows the scheme.
   *
   * @return the path, possibly empty
   */
  public String path() {
    return path;
  }

  /**
   * Returns the addresses.
   *
   * @param defaultPort the port of a host without one
   * @return at least one address
   * @throws LockConfigurationException if there is none, or one is malformed
   */
  public List<Endpoint> endpoints(int defaultPort) {
    if (hosts == null || hosts.isEmpty()) {
      throw new LockConfigurationException(
          scheme + " URI: a host is missing; write " + scheme + "://host:" + defaultPort);
    }
    List<Endpoint> endpoints = new ArrayList<>();
    for (String host : hosts.split(",", -1)) {
      endpoints.add(endpoint(host, defaultPort));
    }
    return List.copyOf(endpoints);
  }

  private Endpoint endpoint(String text, int defaultPort) {
    int end = text.startsWith("[") ? text.indexOf(']') + 1 : text.indexOf(':');
    if (end < 0) {
      end = text.length();
    }
    String host = text.substring(0, end);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    }
    String rest = text.substring(end);
    if (host.isEmpty() || (!rest.isEmpty() && !rest.startsWith(":"))) {
      throw new LockConfigurationException(
          scheme
              + " URI: \""
              + text
              + "\" is not a host and port; write host:"
              + defaultPort
              + ", or [address]:"
              + defaultPort
              + " for IPv6");
    }
    if (rest.isEmpty()) {
      return new Endpoint(host, defaultPort);
    }
    String digits = rest.substring(1);
    int port = digits.matches("\\d{1,5}") ? Integer.parseInt(digits) : 0;
    if (port < 1 || port > 65_535) {
      throw new LockConfigurationException(
          scheme
              + " URI: \""
              + digits
              + "\" is not a port; write a number from 1 to 65535, such"
              + " as "
              + host
              + ":"
              + defaultPort);
    }
    return new Endpoint(host, port);
  }

  /**
   * Reads a parameter as it is.
   *
   * @param name the parameter
   * @return its value, or empty if it is not given
   */
  public Optional<String> text(String name) {
    read.add(name);
    return Optional.ofNullable(parameters.get(name));
  }

  /**
   * Reads a parameter as a duration, see {@link DurationSyntax}.
   *
   * @param name the parameter
   * @return its value, at least 1 ms, or empty if it is not given
   * @throws LockConfigurationException if it is not a positive duration
   */
  public Optional<Duration> duration(String name) {
    return text(name)
        .map(
            text -> {
              Duration duration;
              try {
                duration = DurationSyntax.parse(text);
              } catch (IllegalArgumentException e) {
                throw new LockConfigurationException(
                    scheme + " URI: parameter " + name + ": " + e.getMessage());
              }
              if (duration.isZero()) {
                throw new LockConfigurationException(
                    scheme + " URI: parameter " + name + " must be longer than 0");
              }
              return duration;
            });
  }

  /**
   * Reads a parameter as a whole number.
   *
   * @param name the parameter
   * @param min the least that is right
   * @param max the most that is right
   * @return its value, or empty if it is not given
   * @throws LockConfigurationException if it is not a whole number in that range
   */
  public OptionalInt integer(String name, int min, int max) {
    Optional<String> text = text(name);
    if (text.isEmpty()) {
      return OptionalInt.empty();
    }
    long value = text.get().matches("-?\\d{1,10}") ? Long.parseLong(text.get()) : Long.MIN_VALUE;
    if (value < min || value > max) {
      throw new LockConfigurationException(
          scheme
              + " URI: parameter "
              + name
              + " must be a whole number from "
              + min
              + " to "
              + max
              + ", not \""
              + text.get()
              + "\"");
    }
    return OptionalInt.of((int) value);
  }

  /**
   * Reads a parameter as true or false.
   *
   * @param name the parameter
   * @return its value, or empty if it is not given
   * @throws LockConfigurationException if it is neither {@code true} nor {@code false}
   */
  public Optional<Boolean> flag(String name) {
    return text(name)
        .map(
            text ->
                switch (text) {
                  case "true" -> true;
                  case "false" -> false;
                  default ->
                      throw new LockConfigurationException(
                          scheme
                              + " URI: parameter "
                              + name
                              + " must be true or false, not \""
                              + text
                              + "\"");
                });
  }

  /**
   * Refuses parameters that nobody has read. To be called when everything has been read and before
   * the first connection.
   *
   * @throws LockConfigurationException if there is one; it lists those that exist
   */
  public void requireAllRead() {
    Set<String> unread = new TreeSet<>(parameters.keySet());
    unread.removeAll(read);
    if (!unread.isEmpty()) {
      throw new LockConfigurationException(
          scheme
              + " URI: unknown parameter "
              + String.join(", ", unread)
              + "; there are "
              + String.join(", ", new TreeSet<>(read)));
    }
  }

  /** Returns scheme, addresses and path: neither user, password nor parameters. */
  @Override
  public String toString() {
    return hosts == null ? scheme + ":" + path : scheme + "://" + hosts + path;
  }
}
