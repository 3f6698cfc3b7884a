package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.LocalProcess;
import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Workspace;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;
import redis.embedded.error.UnknownOSName;
import redis.embedded.model.OsArchitecture;

/**
 * The Redis program in <a href="https://github.com/codemonstur/embedded-redis">embedded-redis</a>.
 * It is unpacked and run like any other program, so that it can be paused and killed.
 */
final class EmbeddedRedis implements Installation {
  private static final String DIRECTORY = "embedded-redis";

  private EmbeddedRedis() {}

  /**
   * Finds the program for this system.
   *
   * @throws UnsuitableSourceException if there is none, or this system cannot pause it
   */
  static EmbeddedRedis find() throws UnsuitableSourceException {
    if (!LocalProcess.isSupported()) {
      throw new UnsuitableSourceException("local processes need the signals of a POSIX system");
    }
    if (!hasProgram()) {
      throw new UnsuitableSourceException(
          "embedded-redis has no program for %s on %s"
              .formatted(System.getProperty("os.name"), System.getProperty("os.arch")));
    }
    return new EmbeddedRedis();
  }

  private static boolean hasProgram() {
    try {
      OsArchitecture system = OsArchitecture.detectOSandArchitecture();
      return ExecutableProvider.newProvidedVersionsMap().containsKey(system);
    } catch (UnknownOSName e) {
      return false;
    }
  }

  @Override
  public String source() {
    return "embedded-redis, its program run as a process";
  }

  @Override
  public ServerProcess process(Workspace workspace, Path directory, List<String> arguments) {
    // The embedded Redis needs OpenSSL, which minimal systems lack.
    return new BinaryInstallation(
            source(), program(workspace), BinaryInstallation.unpackedLibraries())
        .process(workspace, directory, arguments);
  }

  /** {@return the program, unpacked once, since a running program cannot be overwritten} */
  private static Path program(Workspace workspace) {
    Path directory = workspace.sharedDirectory(DIRECTORY, EmbeddedRedis::unpack);
    try (Stream<Path> files = Files.list(directory)) {
      return files.findFirst().orElseThrow();
    } catch (IOException e) {
      throw new TestbedException("cannot read " + directory, e);
    }
  }

  private static void unpack(Path directory) {
    try {
      File program = ExecutableProvider.newJarResourceProvider(directory.toFile()).get();
      if (!program.canExecute()) {
        throw new IOException(program + " cannot be executed");
      }
    } catch (IOException e) {
      throw new TestbedException("cannot unpack the embedded Redis: " + e.getMessage(), e);
    }
  }
}
