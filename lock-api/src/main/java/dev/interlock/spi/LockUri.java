package dev.interlock.spi;

import dev.interlock.LockConfigurationException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The URI of a store: {@code
 * scheme://user:password@host:port,host:port/path?name=value&name=value}, or {@code
 * scheme:path?name=value} for a store without an address. Unlike {@link java.net.URI} it can have
 * several hosts. User, password, path and parameters are percent-decoded. Only these characters
 * must be percent-encoded: {@code %} and {@code ?} in a user or password, {@code :} in a user, and
 * {@code %}, {@code &} and {@code @} in a parameter.
 *
 * <p>A method that reads a malformed part throws {@link LockConfigurationException}, which names
 * the part and says how to write it. {@link #toString()} and messages never contain passwords;
 * {@link #redact} removes them from other messages. Thread-safe. Immutable except for secrets in
 * files, which {@link #get} reads again each time.
 */
public final class LockUri {

  /**
   * The source of the password, in place of the one before the {@code @}. A provider whose URIs
   * take a password lists this among its {@link LockProvider#parameters}.
   */
  public static final UriParameter<String> PASSWORD =
      UriParameter.secretElsewhere(
          "password",
          "Where to read the password from, in place of user:password@host: a file, which is read"
              + " again for each connection, or an environment variable.");

  private static final Pattern SCHEME = Pattern.compile("[a-zA-Z][a-zA-Z0-9+.-]*");
  private static final Pattern ADDRESS =
      Pattern.compile("(?:\\[([^\\[\\]]+)]|([^:\\[\\]]+))(:.*)?", Pattern.DOTALL);
  private static final Pattern PORT = Pattern.compile("\\d{1,5}");

  private static final Pattern ENCODED = Pattern.compile("(?:%\\p{XDigit}{2})+");
  private static final Pattern STRAY_PERCENT = Pattern.compile("%(?!\\p{XDigit}{2})");

  private static final Pattern LOGIN_START = Pattern.compile(":/+|(?<![\\w/])//");
  private static final Pattern NEXT_URI = Pattern.compile("(?=\\s\\W{0,2}" + SCHEME + ":/)");
  private static final Pattern SECRET_PARAMETER =
      Pattern.compile(
          "[?&][\\w.%-]*(?:password|passwd|pwd|secret|token|credential)[\\w.%-]*=",
          Pattern.CASE_INSENSITIVE);
  private static final String HIDDEN = "***";

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

  /** The secret files that were read, by their names. */
  private final Map<String, FileBacked<String>> secretFiles = new ConcurrentHashMap<>();

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
   * Parses a URI.
   *
   * @param text the URI
   * @return the parsed URI
   * @throws LockConfigurationException if it is not of the form above
   */
  public static LockUri parse(String text) {
    int colon = text.indexOf(':');
    String scheme = colon < 0 ? "" : text.substring(0, colon);
    if (!SCHEME.matcher(scheme).matches()) {
      // The message does not repeat the text: without a scheme, it may be a password.
      throw new LockConfigurationException(
          "a lock URI starts with a scheme and a colon, such as redis://localhost:6379 or"
              + " memory:demo");
    }
    scheme = scheme.toLowerCase(Locale.ROOT);
    String rest = text.substring(colon + 1);

    Map<String, String> parameters = new LinkedHashMap<>();
    int question = rest.indexOf('?');
    if (question >= 0) {
      // In redis://u:1?a=b@host the ? may begin the parameters, or be part of the password.
      if (rest.startsWith("//") && rest.indexOf('@', question) >= 0) {
        throw malformed(
            scheme,
            "an @ follows a ?; write ? as %3F in a user or password, and @ as %40 in a parameter");
      }
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

  private static LockConfigurationException malformed(String scheme, String problem) {
    return new LockConfigurationException(scheme + " URI: " + problem);
  }

  private static void parseQuery(String scheme, String query, Map<String, String> parameters) {
    for (String pair : query.split("&", -1)) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      if (equals <= 0) {
        throw malformed(scheme, "parameters are written name=value, separated by &");
      }
      String name = decode(scheme, "parameter", pair.substring(0, equals));
      String value = decode(scheme, "parameter " + name, pair.substring(equals + 1));
      if (parameters.put(name, value) != null) {
        throw malformed(scheme, "parameter " + name + " is given twice; give it once");
      }
    }
  }

  private static String decode(String scheme, String part, String text) {
    if (STRAY_PERCENT.matcher(text).find()) {
      throw malformed(
          scheme,
          "% in the "
              + part
              + " must be followed by two hexadecimal digits; write % itself as %25");
    }
    return ENCODED
        .matcher(text)
        .replaceAll(bytes -> Matcher.quoteReplacement(decodeBytes(scheme, part, bytes.group())));
  }

  private static String decodeBytes(String scheme, String part, String encoded) {
    byte[] bytes = HexFormat.of().withPrefix("%").parseHex(encoded);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw malformed(scheme, "the percent-encoded bytes of the " + part + " are not UTF-8");
    }
  }

  /** {@return the scheme, in lower case} */
  public String scheme() {
    return scheme;
  }

  /**
   * Returns the user before the {@code @}.
   *
   * @return the user, or empty if there is none or its name is empty
   */
  public Optional<String> user() {
    return Optional.ofNullable(user).filter(name -> !name.isEmpty());
  }

  /**
   * Returns the password before the {@code @}, or the one to which {@link #PASSWORD} refers. It may
   * be in a file that is replaced while clients run. So call this method again whenever a
   * connection is authenticated; see {@link #get}.
   *
   * @return the password, or empty if there is none or it is empty
   * @throws LockConfigurationException if it is given twice, or cannot be read
   */
  public Optional<String> password() {
    Optional<String> elsewhere = get(PASSWORD);
    if (elsewhere.isEmpty()) {
      return Optional.ofNullable(password).filter(secret -> !secret.isEmpty());
    }
    if (password != null) {
      throw malformed(scheme, "the password is given both before the @ and by " + PASSWORD);
    }
    return elsewhere.filter(secret -> !secret.isEmpty());
  }

  /**
   * Returns the path, which begins at the first slash after the address; in a URI without {@code
   * //}, the part after the scheme.
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
      throw malformed(scheme, "a host is missing; write " + scheme + "://host:" + defaultPort);
    }
    return Arrays.stream(hosts.split(",", -1)).map(host -> endpoint(host, defaultPort)).toList();
  }

  private Endpoint endpoint(String text, int defaultPort) {
    Matcher address = ADDRESS.matcher(text);
    // The message does not repeat the text: it is a password if "@host" was forgotten.
    if (!address.matches()) {
      throw malformed(
          scheme,
          String.format(
              "the part before the path is not a host and port; write host:%1$s, or"
                  + " [address]:%1$s for IPv6",
              defaultPort));
    }
    String host = address.group(1) == null ? address.group(2) : address.group(1);
    if (address.group(3) == null) {
      return new Endpoint(host, defaultPort);
    }
    String digits = address.group(3).substring(1);
    int port = PORT.matcher(digits).matches() ? Integer.parseInt(digits) : 0;
    if (port < 1 || port > 65_535) {
      throw malformed(
          scheme,
          String.format(
              "the text after the host %s is not a port; write a number from 1 to 65535, such as %s",
              host, new Endpoint(host, defaultPort)));
    }
    return new Endpoint(host, port);
  }

  /**
   * Returns the value of a parameter. If the parameter names a file with a secret, each call reads
   * the file again. After the first successful read, an unreadable or empty file is not an error:
   * the method returns the last secret until the file can be read again, and logs a warning.
   *
   * @param <T> the type of the value
   * @param parameter the parameter
   * @return the value, or empty if the URI does not give the parameter
   * @throws LockConfigurationException if the text is not a value of the parameter, or if the
   *     parameter is given twice
   */
  public <T> Optional<T> get(UriParameter<T> parameter) {
    List<String> given = parameter.names().stream().filter(parameters::containsKey).toList();
    if (given.size() > 1) {
      throw malformed(scheme, "give either " + String.join(" or ", given) + ", not both");
    }
    if (given.isEmpty()) {
      return Optional.empty();
    }
    String name = given.get(0);
    try {
      return Optional.of(parameter.read(name, parameters.getOrDefault(name, ""), secretFiles));
    } catch (IllegalArgumentException e) {
      throw new LockConfigurationException(
          scheme + " URI: parameter " + name + ": " + e.getMessage(), e);
    }
  }

  /**
   * Checks that this URI has only known parameters. The engine does so before it calls {@link
   * LockProvider#open}.
   *
   * @param known the parameters that the scheme takes
   * @throws LockConfigurationException if there are others; the message lists the known ones
   */
  public void requireOnly(Collection<UriParameter<?>> known) {
    Set<String> names = new TreeSet<>();
    known.forEach(parameter -> names.addAll(parameter.names()));
    Set<String> unknown = new TreeSet<>(parameters.keySet());
    unknown.removeAll(names);
    if (!unknown.isEmpty()) {
      throw malformed(
          scheme,
          String.format(
              "unknown parameter %s; the known ones are %s",
              String.join(", ", unknown), String.join(", ", names)));
    }
  }

  /**
   * Returns the text with {@code ***} in place of possible secrets in its URIs: user and password,
   * and the values of parameters whose names contain {@code password}, {@code passwd}, {@code pwd},
   * {@code secret}, {@code token} or {@code credential}.
   *
   * <p>Passwords may be written raw, with spaces, slashes and {@code @}. So if the end of a secret
   * is ambiguous, this method hides too much rather than too little: a login ends at the last
   * {@code @} before the next URI, and a secret parameter ends where the next URI begins. Text
   * after white space that looks like a URI counts as the next URI.
   *
   * @param text a URI, or a message that may quote URIs
   * @return the text without secrets
   */
  public static String redact(String text) {
    StringBuilder redacted = new StringBuilder(text.length());
    for (String part : NEXT_URI.split(text, -1)) {
      redactOne(part, redacted);
    }
    return redacted.toString();
  }

  private static void redactOne(String text, StringBuilder redacted) {
    Matcher login = LOGIN_START.matcher(text);
    int start = login.find() ? login.end() : text.length();
    int at = text.lastIndexOf('@');
    Matcher parameter = SECRET_PARAMETER.matcher(text);
    boolean hasParameter = parameter.find();
    if (hasParameter && parameter.end() <= at) {
      // Either the parameter is part of a password, or the @ is part of the parameter.
      redacted.append(text, 0, Math.min(start, parameter.end())).append(HIDDEN);
      return;
    }
    int shown = 0;
    if (at >= start) {
      redacted.append(text, 0, start).append(HIDDEN);
      shown = at;
    }
    if (hasParameter) {
      redacted.append(text, shown, parameter.end()).append(HIDDEN);
    } else {
      redacted.append(text, shown, text.length());
    }
  }

  /**
   * Returns scheme, addresses and path, without user, password and parameters. A malformed part is
   * replaced by {@code ***}, because it may be a password.
   */
  @Override
  public String toString() {
    if (hosts == null) {
      return scheme + ":" + (path.indexOf('@') < 0 ? path : HIDDEN);
    }
    boolean wellFormed =
        Arrays.stream(hosts.split(",", -1))
            .map(ADDRESS::matcher)
            .allMatch(address -> address.matches() && hasPortOrNone(address));
    return scheme + "://" + (wellFormed ? hosts : HIDDEN) + path;
  }

  private static boolean hasPortOrNone(Matcher address) {
    String port = address.group(3);
    return port == null || PORT.matcher(port.substring(1)).matches();
  }
}
