package dev.interlock.etcd;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.UUID;
import java.util.regex.Pattern;

/** Opens backends without the engine, and reads servers without the driver. */
final class Backends {

  static final TimeSource TIME = TimeSource.system();

  /** Long times for tests that are not about time, so that a busy machine does not exceed them. */
  static final LockOptions LONG_TIMEOUT =
      LockOptions.builder()
          .requestTimeout(Duration.ofSeconds(20))
          .ttl(Duration.ofMinutes(1))
          .build();

  private Backends() {}

  static EtcdBackend open(String uri, Duration requestTimeout) {
    return open(uri, LockOptions.builder().requestTimeout(requestTimeout).build());
  }

  static EtcdBackend open(String uri, LockOptions options) {
    return open(uri, options, TIME);
  }

  static EtcdBackend open(String uri, LockOptions options, TimeSource time) {
    BackendContext context =
        new BackendContext() {
          @Override
          public LockOptions options() {
            return options;
          }

          @Override
          public TimeSource time() {
            return time;
          }

          @Override
          public void reportLoss(Claim claim, LossReason reason, String detail) {
            throw new AssertionError(claim + " is said to be lost");
          }
        };
    return (EtcdBackend) new EtcdProvider().open(LockUri.parse(uri), context);
  }

  static Claim claim(String name) {
    return claim(name, Share.EXCLUSIVE);
  }

  static Claim claim(String name, Share share) {
    return claim(name, share, true);
  }

  static Claim claim(String name, Share share, boolean autoRenew) {
    return claim(name, share, Duration.ofSeconds(30), autoRenew);
  }

  static Claim claim(String name, Share share, Duration ttl) {
    return claim(name, share, ttl, true);
  }

  private static Claim claim(String name, Share share, Duration ttl, boolean autoRenew) {
    String id = UUID.randomUUID().toString().replace("-", "").substring(0, 27);
    return new Claim(
        name, id, ttl, autoRenew, "host/1/test", System.nanoTime(), share, Duration.ZERO);
  }

  static Deadline in(Duration duration) {
    return Deadline.in(TIME, duration);
  }

  static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Adds a user whose password is its name, with a permission for the keys of locks. */
  static void addUser(EtcdServer server, String name, String permission) throws IOException {
    String named = "{\"name\":\"" + name + "\"";
    server.call("/v3/auth/user/add", named + ",\"password\":\"" + name + "\"}");
    server.call("/v3/auth/role/add", named + "}");
    permit(server, name, permission);
    server.call("/v3/auth/user/grant", "{\"user\":\"" + name + "\",\"role\":\"" + name + "\"}");
  }

  /** Replaces the permission of a user of {@link #addUser}. */
  static void permit(EtcdServer server, String name, String permission) throws IOException {
    permit(server, name, permission, "interlock/");
  }

  /** Replaces the permission for the keys with a prefix, and no other permission. */
  static void permit(EtcdServer server, String name, String permission, String prefix)
      throws IOException {
    server.call(
        "/v3/auth/role/grant",
        "{\"name\":\""
            + name
            + "\",\"perm\":{\"permType\":\""
            + permission
            + "\",\"key\":\""
            + base64(prefix)
            + "\",\"range_end\":\""
            + base64(end(prefix))
            + "\"}}");
  }

  private static String end(String prefix) {
    int last = prefix.length() - 1;
    return prefix.substring(0, last) + (char) (prefix.charAt(last) + 1);
  }

  /** Returns the URI of a cluster with a password for a user of {@link #addUser}. */
  static String as(String name, EtcdCluster etcd) {
    return etcd.uri().replaceFirst("//[^@]*@", "//" + name + ":" + name + "@");
  }

  /** Returns the number of reads, writes and transactions that clients have sent to the server. */
  static long requests(EtcdServer server) throws IOException, InterruptedException {
    return started(server, "grpc_service=\"etcdserverpb.KV\"");
  }

  /** Returns the number of logins to the server. */
  static long logins(EtcdServer server) throws IOException, InterruptedException {
    return started(server, "grpc_method=\"Authenticate\"");
  }

  private static long started(EtcdServer server, String label)
      throws IOException, InterruptedException {
    URI metrics = URI.create("http://" + server.host() + ":" + server.port() + "/metrics");
    String answer =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(metrics).build(), HttpResponse.BodyHandlers.ofString())
            .body();
    return Pattern.compile(
            "(?m)^grpc_server_started_total\\{[^}]*" + Pattern.quote(label) + "[^}]*} (.+)$")
        .matcher(answer)
        .results()
        .mapToLong(found -> (long) Double.parseDouble(found.group(1)))
        .sum();
  }

  /** Returns the number of leases on the server. */
  static long leases(EtcdServer server) throws IOException {
    return Pattern.compile("\"ID\"")
        .matcher(server.call("/v3/lease/leases", "{}"))
        .results()
        .count();
  }

  /** Returns the number of keys with a prefix. */
  static long keys(EtcdServer server, String prefix) throws IOException {
    String answer =
        server.call(
            "/v3/kv/range",
            "{\"key\":\"" + base64(prefix) + "\",\"range_end\":\"" + base64(end(prefix)) + "\"}");
    return Pattern.compile("\"key\"").matcher(answer).results().count();
  }
}
