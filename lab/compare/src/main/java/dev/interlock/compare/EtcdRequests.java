package dev.interlock.compare;

import dev.interlock.peers.Clients;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Counts unary calls by etcd's own metrics. Watches and keep-alives are streams and are not
 * counted.
 */
final class EtcdRequests implements RequestCounter {
  private static final Pattern CALLS =
      Pattern.compile("(?m)^grpc_server_started_total\\{.*grpc_type=\"unary\".*\\} (\\S+)$");

  private final HttpClient http = HttpClient.newHttpClient();
  private final HttpRequest metrics;

  EtcdRequests(String uri) {
    String server = Clients.addresses(uri).get(0);
    this.metrics =
        HttpRequest.newBuilder(URI.create("http://" + server + "/metrics"))
            .timeout(Duration.ofSeconds(5))
            .build();
  }

  @Override
  public long requests() throws IOException, InterruptedException {
    Matcher calls = CALLS.matcher(http.send(metrics, BodyHandlers.ofString()).body());
    double sum = 0;
    while (calls.find()) {
      sum += Double.parseDouble(calls.group(1));
    }
    return (long) sum;
  }
}
