package dev.interlock.testbed.install;

import com.github.dockerjava.api.DockerClient;
import dev.interlock.testbed.process.ContainerProcess;
import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.Workspace;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A server program in a container image.
 *
 * @param program the program's name in the image. It replaces the image's entry point, which would
 *     choose user and configuration itself
 */
public record ContainerInstallation(DockerClient docker, String image, String program)
    implements Installation {

  /**
   * Finds a program's image.
   *
   * @param setting the setting that may name another image
   * @throws UnsuitableSourceException if there is no suitable daemon, or no such image
   */
  public static ContainerInstallation find(String program, String setting, String officialImage)
      throws UnsuitableSourceException {
    String image = DockerDaemon.image(Settings.get(setting).orElse(officialImage));
    return new ContainerInstallation(DockerDaemon.client(), image, program);
  }

  @Override
  public String source() {
    return "container of image " + image;
  }

  @Override
  public ServerProcess process(Workspace workspace, Path directory, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(program);
    command.addAll(arguments);
    return new ContainerProcess(docker, image, workspace, directory, command);
  }
}
