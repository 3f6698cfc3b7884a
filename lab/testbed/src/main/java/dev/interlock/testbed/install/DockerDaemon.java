package dev.interlock.testbed.install;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Info;
import dev.interlock.testbed.process.TestbedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.ImageNameSubstitutor;

/**
 * The Docker daemon of this machine, as Testcontainers finds it.
 *
 * <p>Servers in containers share the machine's network, so that a server has one address for its
 * clients, its peers and itself, and a killed one refuses connections, with no forwarding between.
 * That takes a daemon on this very Linux, run by root.
 *
 * <p>What was found out about the daemon and each image is kept for the life of the JVM, so that a
 * missing one costs its time once.
 */
final class DockerDaemon {
  private static final Duration ANSWER = Duration.ofSeconds(30);
  private static final Duration PULL = Duration.ofMinutes(5);

  private static final Map<String, CompletableFuture<String>> IMAGES = new ConcurrentHashMap<>();

  private DockerDaemon() {}

  private static final class Connection {
    static final CompletableFuture<DockerClient> CLIENT = inBackground(DockerDaemon::connect);
  }

  /**
   * The client of a daemon that will do.
   *
   * @throws UnsuitableWayException if none answers, or none that will do, or not in time
   */
  static DockerClient client() throws UnsuitableWayException {
    if (!hasSocket()) {
      throw new UnsuitableWayException("no Docker daemon: DOCKER_HOST is not set, and no socket");
    }
    return await(Connection.CLIENT, ANSWER, "the Docker daemon does not serve");
  }

  /**
   * Pulls an image unless it is there.
   *
   * @return its name, which Testcontainers may have been told to substitute
   * @throws UnsuitableWayException if it is not there and cannot be pulled
   */
  static String image(String name) throws UnsuitableWayException {
    client();
    CompletableFuture<String> image =
        IMAGES.computeIfAbsent(name, n -> inBackground(() -> pull(n)));
    return await(image, PULL, "the image " + name + " is not there and cannot be pulled");
  }

  /**
   * In one attempt: where Testcontainers pulls for itself it goes on for minutes, and meanwhile the
   * next way could have served.
   */
  private static String pull(String name) {
    DockerImageName image = ImageNameSubstitutor.instance().apply(DockerImageName.parse(name));
    String substitute = image.asCanonicalNameString();
    DockerClient client = Connection.CLIENT.join();
    try {
      client.inspectImageCmd(substitute).exec();
    } catch (NotFoundException absent) {
      try {
        client.pullImageCmd(substitute).start().awaitCompletion();
      } catch (InterruptedException e) {
        throw new IllegalStateException("this thread is never interrupted", e);
      }
    }
    return substitute;
  }

  private static DockerClient connect() {
    if (!System.getProperty("os.name", "").equals("Linux")) {
      throw new IllegalStateException("containers share this machine's network on Linux only");
    }
    DockerClient client = DockerClientFactory.instance().client();
    String scheme = DockerClientFactory.instance().getTransportConfig().getDockerHost().getScheme();
    Info info = client.infoCmd().exec();
    if (!"unix".equals(scheme)
        || String.valueOf(info.getOperatingSystem()).contains("Docker Desktop")
        || Optional.ofNullable(info.getSecurityOptions()).orElse(List.of()).stream()
            .anyMatch(option -> option.contains("rootless"))) {
      throw new IllegalStateException(
          "the daemon is remote, in a virtual machine, or rootless: its containers do not share this"
              + " machine's network");
    }
    return client;
  }

  /** Asking Testcontainers where there is certainly none would log errors. */
  private static boolean hasSocket() {
    return System.getenv("DOCKER_HOST") != null
        || Stream.of(
                Path.of("/var/run/docker.sock"),
                Path.of(System.getProperty("user.home"), ".testcontainers.properties"))
            .anyMatch(Files::exists);
  }

  /** Works on a new thread, since the daemon or a registry may never answer. */
  private static <T> CompletableFuture<T> inBackground(Supplier<T> work) {
    return CompletableFuture.supplyAsync(
        work,
        task -> {
          Thread thread = new Thread(task, "interlock-testbed-docker");
          thread.setDaemon(true);
          thread.start();
        });
  }

  private static <T> T await(CompletableFuture<T> result, Duration limit, String problem)
      throws UnsuitableWayException {
    try {
      return result.get(limit.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new UnsuitableWayException(problem + ": " + e.getCause());
    } catch (TimeoutException e) {
      throw new UnsuitableWayException(problem + " within " + limit.toSeconds() + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TestbedException("interrupted while waiting for Docker", e);
    }
  }
}
