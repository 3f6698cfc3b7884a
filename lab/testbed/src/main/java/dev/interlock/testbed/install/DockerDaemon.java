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
 * <p>Servers in containers share the machine's network, so that a server has the same address for
 * clients, peers and itself, and a killed one refuses connections. That requires a daemon on this
 * Linux machine, run by root.
 *
 * <p>The results for the daemon and for each image are kept for the life of the JVM, so that a
 * missing one costs its time-out only once.
 */
final class DockerDaemon {
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration PULL_TIMEOUT = Duration.ofMinutes(5);

  private static final Map<String, CompletableFuture<String>> IMAGES = new ConcurrentHashMap<>();

  private DockerDaemon() {}

  private static final class Connection {
    static final CompletableFuture<DockerClient> CLIENT = inBackground(DockerDaemon::connect);
  }

  /**
   * Returns the client of a suitable daemon.
   *
   * @throws UnsuitableSourceException if no suitable daemon answers in time
   */
  static DockerClient client() throws UnsuitableSourceException {
    if (!hasSocket()) {
      throw new UnsuitableSourceException(
          "there is no Docker daemon: DOCKER_HOST is not set, and there is no /var/run/docker.sock");
    }
    return await(Connection.CLIENT, ANSWER_TIMEOUT, "the Docker daemon does not answer");
  }

  /**
   * Pulls an image unless it is present.
   *
   * @return its name, or the substitute that Testcontainers is configured to use
   * @throws UnsuitableSourceException if it is missing and cannot be pulled
   */
  static String image(String name) throws UnsuitableSourceException {
    client();
    CompletableFuture<String> image =
        IMAGES.computeIfAbsent(name, n -> inBackground(() -> pull(n)));
    return await(image, PULL_TIMEOUT, "the image " + name + " is missing and cannot be pulled");
  }

  /** Pulls an image, in one attempt: Testcontainers itself would retry for minutes. */
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
      throw new IllegalStateException("containers share the machine's network only on Linux");
    }
    DockerClient client = DockerClientFactory.instance().client();
    String scheme = DockerClientFactory.instance().getTransportConfig().getDockerHost().getScheme();
    Info info = client.infoCmd().exec();
    if (!"unix".equals(scheme)
        || String.valueOf(info.getOperatingSystem()).contains("Docker Desktop")
        || Optional.ofNullable(info.getSecurityOptions()).orElse(List.of()).stream()
            .anyMatch(option -> option.contains("rootless"))) {
      throw new IllegalStateException(
          "the daemon is remote, in a virtual machine, or rootless, so its containers do not share"
              + " this machine's network");
    }
    return client;
  }

  /** {@return whether there may be a daemon} Without one, Testcontainers would log errors. */
  private static boolean hasSocket() {
    return System.getenv("DOCKER_HOST") != null
        || Stream.of(
                Path.of("/var/run/docker.sock"),
                Path.of(System.getProperty("user.home"), ".testcontainers.properties"))
            .anyMatch(Files::exists);
  }

  /** Runs work on a new thread, since the daemon or a registry may never answer. */
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
      throws UnsuitableSourceException {
    try {
      return result.get(limit.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new UnsuitableSourceException(problem + ": " + e.getCause());
    } catch (TimeoutException e) {
      throw new UnsuitableSourceException(problem + " within " + limit.toSeconds() + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TestbedException("interrupted while waiting for Docker", e);
    }
  }
}
