package dev.interlock.samples;

import dev.interlock.testbed.Testbed;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A process of the sample for Spring Boot. */
final class ShopInstance implements AutoCloseable {

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final int port = Testbed.freePort();
  private final Path log;
  private final Process process;

  ShopInstance(Path directory, String redis, String... properties) throws IOException {
    this.log = directory.resolve("shop-" + port + ".log");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "shop.ShopApplication",
                "--server.port=" + port,
                "--interlock.uri=" + redis,
                "--shop.redis=" + redis));
    command.addAll(List.of(properties));
    this.process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
  }

  /** The name under which it makes reports. */
  String name() {
    return String.valueOf(port);
  }

  String log() throws IOException {
    return Files.readString(log);
  }

  void awaitStart() throws Exception {
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(4);
    while (!log().contains("Started ShopApplication")) {
      if (!process.isAlive() || System.nanoTime() - end > 0) {
        throw new AssertionError("the sample did not start:\n" + log());
      }
      Thread.sleep(50);
    }
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return HTTP.send(request(path).build(), BodyHandlers.ofString());
  }

  HttpResponse<String> put(String path) throws IOException, InterruptedException {
    return HTTP.send(
        request(path).PUT(HttpRequest.BodyPublishers.noBody()).build(), BodyHandlers.ofString());
  }

  CompletableFuture<HttpResponse<String>> post(String path) {
    return HTTP.sendAsync(
        request(path).POST(HttpRequest.BodyPublishers.noBody()).build(), BodyHandlers.ofString());
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://localhost:" + port + path));
  }

  /** Ends it as {@code kill -9} does. */
  void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor();
  }

  /** Asks it to end, as an orchestrator does, and waits for that. */
  void terminate() throws Exception {
    process.destroy();
    if (!process.waitFor(2, TimeUnit.MINUTES)) {
      throw new AssertionError("the sample does not end:\n" + log());
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
