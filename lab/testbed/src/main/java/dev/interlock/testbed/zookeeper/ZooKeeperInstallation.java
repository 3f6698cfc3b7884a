package dev.interlock.testbed.zookeeper;

import dev.interlock.tck.process.StderrLogger;
import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.ContainerInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.LocalProcess;
import dev.interlock.testbed.server.ServerSource;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.event.Level;

/**
 * A ZooKeeper server program.
 *
 * @param arguments returns the arguments that run the server in the foreground, for a configuration
 *     file
 */
record ZooKeeperInstallation(Installation program, Function<Path, List<String>> arguments) {
  private static final String SERVER = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

  /**
   * Finds a program.
   *
   * @param flags options of the server's JVM, which only an embedded server accepts
   */
  static ZooKeeperInstallation find(ServerSource source, List<String> flags)
      throws UnsuitableSourceException {
    if (source != ServerSource.EMBEDDED && !flags.isEmpty()) {
      throw new UnsuitableSourceException("only an embedded server accepts options of its JVM");
    }
    return switch (source) {
      case DOCKER ->
          script(
              ContainerInstallation.find(
                  "zkServer.sh", "interlock.zookeeper.image", "zookeeper:3.9"));
      case ENDPOINT -> throw new IllegalArgumentException("an endpoint is not an installation");
      case BINARY -> script(BinaryInstallation.find("zkServer.sh", "interlock.zookeeper.binary"));
      case EMBEDDED -> embedded(flags);
    };
  }

  /** {@return the start script of ZooKeeper's distribution, whose process becomes the JVM} */
  private static ZooKeeperInstallation script(Installation program) {
    return new ZooKeeperInstallation(
        program,
        configuration ->
            List.of(
                "--config",
                configuration.toAbsolutePath().resolveSibling("").toString(),
                "start-foreground"));
  }

  /**
   * {@return the server from Maven Central, in a JVM of its own, so that it can be paused and
   * killed}
   */
  private static ZooKeeperInstallation embedded(List<String> flags)
      throws UnsuitableSourceException {
    if (!LocalProcess.isSupported()) {
      throw new UnsuitableSourceException("local processes need the signals of a POSIX system");
    }
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    BinaryInstallation jvm = new BinaryInstallation("embedded in a JVM of its own", java, Map.of());
    return new ZooKeeperInstallation(
        jvm,
        configuration -> {
          List<String> arguments = new ArrayList<>(shortLifeOptions());
          arguments.addAll(flags);
          arguments.addAll(List.of("-Xmx512m", "-cp", classPath()));
          arguments.addAll(StderrLogger.options(Level.INFO));
          arguments.addAll(List.of(SERVER, configuration.toString()));
          return arguments;
        });
  }

  /** {@return the options of this JVM that suit short-lived processes} */
  private static List<String> shortLifeOptions() {
    List<String> options =
        new ArrayList<>(ManagementFactory.getRuntimeMXBean().getInputArguments());
    options.retainAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    return options;
  }

  private static String classPath() {
    return Stream.of("java.class.path", "jdk.module.path")
        .map(System::getProperty)
        .filter(path -> path != null && !path.isEmpty())
        .collect(Collectors.joining(File.pathSeparator));
  }
}
