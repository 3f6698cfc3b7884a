package dev.interlock.testbed.etcd;

import dev.interlock.testbed.server.TlsTrust;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.HttpsURLConnection;
import org.jspecify.annotations.Nullable;

/**
 * One etcd server, over HTTP: its own pages, and the <a
 * href="https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/">JSON gateway</a> to its API. So
 * the testbed does not depend on the driver that is under test.
 *
 * @param url the base URL, for example {@code http://127.0.0.1:2379}
 * @param tls the trusted certificates if the URL is {@code https}
 * @param password the password of the user {@code root}, or null without authentication
 */
record EtcdEndpoint(String url, @Nullable TlsTrust tls, @Nullable String password) {
  private static final int HTTP_OK = 200;

  /** The time-out of all requests but {@link #ready}. */
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(5);

  /** {@return true} Throws an exception if the process does not serve this port. */
  boolean ready(Duration limit) throws IOException {
    get("/version", limit);
    return true;
  }

  String version() throws IOException {
    return field(get("/version", ANSWER_TIMEOUT), "etcdserver")
        .orElseThrow(() -> new IOException("the server does not report its version"));
  }

  /** {@return whether a quorum read succeeds} */
  boolean healthy() throws IOException {
    return field(get("/health", ANSWER_TIMEOUT), "health").equals(Optional.of("true"));
  }

  /** The status of a member by its own report. Identifiers are unsigned 64-bit numbers as text. */
  record Status(String member, String leader, String version) {
    boolean leads() {
      return member.equals(leader);
    }
  }

  Status status() throws IOException {
    String answer = post("/v3/maintenance/status", "{}", null);
    return new Status(
        field(answer, "member_id").orElse(""),
        // Without a leader the field is zero, which JSON leaves out.
        field(answer, "leader").orElse("none"),
        field(answer, "version").orElse(""));
  }

  private String get(String path, Duration limit) throws IOException {
    return answer(open(path, limit));
  }

  /** Calls the gateway, as root if authentication is enabled. */
  String call(String path, String json) throws IOException {
    return post(path, json, password == null ? null : token(password));
  }

  /** Enables authentication for everything but the status. */
  void enableAuthentication(String rootPassword) throws IOException {
    post("/v3/auth/user/add", credentials(rootPassword), null);
    post("/v3/auth/role/add", "{\"name\":\"root\"}", null);
    post("/v3/auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}", null);
    post("/v3/auth/enable", "{}", null);
  }

  private static String credentials(String rootPassword) {
    return "{\"name\":\"root\",\"password\":" + quote(rootPassword) + "}";
  }

  private String token(String rootPassword) throws IOException {
    String answer = post("/v3/auth/authenticate", credentials(rootPassword), null);
    return field(answer, "token").orElseThrow(() -> new IOException("etcd returned no token"));
  }

  private String post(String path, String json, @Nullable String token) throws IOException {
    HttpURLConnection connection = open(path, ANSWER_TIMEOUT);
    if (token != null) {
      connection.setRequestProperty("Authorization", token);
    }
    connection.setDoOutput(true);
    connection.getOutputStream().write(json.getBytes(StandardCharsets.UTF_8));
    return answer(connection);
  }

  /** {@return the text as a JSON string} */
  private static String quote(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  /** {@return the first field of that name, whose value is a word, a number or a boolean} */
  static Optional<String> field(String json, String name) {
    return fields(json, name).stream().findFirst();
  }

  static List<String> fields(String json, String name) {
    Matcher matcher =
        Pattern.compile('"' + Pattern.quote(name) + "\"\\s*:\\s*\"?([^\",}\\s]+)").matcher(json);
    List<String> values = new ArrayList<>();
    while (matcher.find()) {
      values.add(matcher.group(1));
    }
    return values;
  }

  private HttpURLConnection open(String path, Duration limit) throws IOException {
    HttpURLConnection connection =
        (HttpURLConnection) URI.create(url + path).toURL().openConnection();
    if (tls != null && connection instanceof HttpsURLConnection secured) {
      secured.setSSLSocketFactory(tls.context().getSocketFactory());
    }
    int millis = Math.toIntExact(Math.max(1, limit.toMillis()));
    connection.setConnectTimeout(millis);
    connection.setReadTimeout(millis);
    // A connection that was kept open would not show that new ones are refused.
    connection.setRequestProperty("Connection", "close");
    return connection;
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return url;
  }

  private static String answer(HttpURLConnection connection) throws IOException {
    try {
      int code = connection.getResponseCode();
      InputStream body =
          code == HTTP_OK ? connection.getInputStream() : connection.getErrorStream();
      String text =
          body == null ? "" : new String(body.readAllBytes(), StandardCharsets.UTF_8).strip();
      if (code != HTTP_OK) {
        throw new IOException("etcd answered with HTTP status " + code + ": " + text);
      }
      return text;
    } finally {
      connection.disconnect();
    }
  }
}
