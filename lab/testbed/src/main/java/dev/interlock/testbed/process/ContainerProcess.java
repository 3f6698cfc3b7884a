package dev.interlock.testbed.process;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.command.InspectContainerResponse.ContainerState;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.HostConfig;
import dev.interlock.tck.process.ProcessSignals;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;

/**
 * A server as the first process of a container. The container shares the machine's network and the
 * server's directory. Each start creates a new container; only the directory persists.
 *
 * <p>It runs as the user of this JVM, so that its files can be removed. It is paused by a signal,
 * not by the daemon, because a container that the daemon has paused cannot be killed. Not
 * thread-safe.
 */
public final class ContainerProcess implements ServerProcess {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int OUTPUT_LINES = 200;

  private final DockerClient docker;
  private final String image;
  private final Workspace workspace;
  private final Path directory;
  private final List<String> command;
  private @Nullable String container;
  private long pid;

  public ContainerProcess(
      DockerClient docker,
      String image,
      Workspace workspace,
      Path directory,
      List<String> command) {
    this.docker = docker;
    this.image = image;
    this.workspace = workspace;
    this.directory = directory;
    this.command = List.copyOf(command);
  }

  @Override
  public void start() throws IOException {
    remove();
    try {
      String user =
          Files.getAttribute(directory, "unix:uid")
              + ":"
              + Files.getAttribute(directory, "unix:gid");
      // the whole workspace, since servers share files in it, such as a TLS identity
      String shared = String.valueOf(directory.getParent());
      String created =
          docker
              .createContainerCmd(image)
              .withLabels(DockerClientFactory.DEFAULT_LABELS)
              .withUser(user)
              .withWorkingDir(directory.toString())
              .withEntrypoint(command)
              .withHostConfig(
                  HostConfig.newHostConfig()
                      .withNetworkMode("host")
                      .withBinds(Bind.parse(shared + ":" + shared)))
              .exec()
              .getId();
      container = created;
      docker.startContainerCmd(created).exec();
      Long started = state(created).getPidLong();
      pid = started == null ? 0 : started;
    } catch (DockerException e) {
      throw new IOException("Docker: " + e.getMessage(), e);
    }
    if (pid != 0) { // otherwise it has already ended
      if (Files.exists(Path.of("/proc", Long.toString(pid)))) {
        workspace.register(pid);
      } else if (isRunning()) {
        throw new IOException(
            "the container does not run on this machine's kernel, so its process cannot be stopped");
      } else {
        pid = 0; // it has ended in the meantime
      }
    }
  }

  @Override
  public boolean isRunning() {
    try {
      return container != null && Boolean.TRUE.equals(state(container).getRunning());
    } catch (NotFoundException gone) {
      return false;
    }
  }

  @Override
  public void pause() throws IOException {
    signal("SIGSTOP");
    if (!Waiting.until(TIMEOUT, () -> ProcessSignals.isStopped(pid))) {
      throw new IOException("the container's process " + pid + " did not stop on SIGSTOP");
    }
  }

  @Override
  public void resume() throws IOException {
    signal("SIGCONT");
  }

  @Override
  public void kill() throws IOException {
    if (isRunning()) {
      signal("SIGKILL");
    }
    if (!Waiting.until(TIMEOUT, () -> !isRunning())) {
      throw new IOException("the container's process " + pid + " survived SIGKILL");
    }
    if (pid != 0) {
      workspace.unregister(pid);
      pid = 0;
    }
  }

  @Override
  public String processes() {
    return isRunning() ? "the container's " + pid : "none";
  }

  @Override
  public String output() {
    if (container == null) {
      return "";
    }
    StringBuilder text = new StringBuilder();
    try (ResultCallback.Adapter<Frame> callback =
        new ResultCallback.Adapter<>() {
          @Override
          public void onNext(Frame frame) {
            synchronized (text) {
              text.append(new String(frame.getPayload(), StandardCharsets.UTF_8));
            }
          }
        }) {
      docker
          .logContainerCmd(container)
          .withStdOut(true)
          .withStdErr(true)
          .withTail(OUTPUT_LINES)
          .exec(callback)
          .awaitCompletion(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    } catch (IOException | DockerException e) {
      return "(its output cannot be read: " + e.getMessage() + ")";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (text) {
      return text.toString();
    }
  }

  @Override
  public void close() throws IOException {
    kill();
    remove();
  }

  private void remove() throws IOException {
    if (container == null) {
      return;
    }
    try {
      docker.removeContainerCmd(container).withForce(true).withRemoveVolumes(true).exec();
    } catch (NotFoundException gone) {
      // already removed
    } catch (DockerException e) {
      throw new IOException("Docker: " + e.getMessage(), e);
    }
    container = null;
  }

  private ContainerState state(String id) {
    return docker.inspectContainerCmd(id).exec().getState();
  }

  private void signal(String name) throws IOException {
    if (container == null) {
      throw new IOException("the container no longer exists");
    }
    try {
      docker.killContainerCmd(container).withSignal(name).exec();
    } catch (DockerException e) {
      throw new IOException("Docker: " + e.getMessage(), e);
    }
  }
}
