package dev.interlock.testbed.install;

import dev.interlock.testbed.process.LocalProcess;
import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.Workspace;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A server program on this machine.
 *
 * @param source the origin of the program, for messages
 * @param environment the variables that the program needs in its environment
 */
public record BinaryInstallation(String source, Path program, Map<String, String> environment)
    implements Installation {

  /** The project's folder of server packages that are unpacked but not installed. */
  private static final Path SERVERS = Path.of(".interlock", "servers");

  /**
   * Looks for a program: by the user's setting, on the {@code PATH}, and in the project's servers
   * folder.
   *
   * @param program the program's file name
   * @param setting the setting that may name its path
   * @param versions a directory, below the root or the servers folder, with a directory for each
   *     version, whose {@code bin} has the program; the newest version is used
   * @throws UnsuitableSourceException if the program is in none of these places; the message lists
   *     them
   */
  public static BinaryInstallation find(String program, String setting, String... versions)
      throws UnsuitableSourceException {
    if (!LocalProcess.isSupported()) {
      throw new UnsuitableSourceException("local processes need the signals of a POSIX system");
    }
    Optional<String> named = Settings.get(setting);
    if (named.isPresent()) {
      Path path = Path.of(named.get());
      if (!Files.isExecutable(path)) {
        throw new UnsuitableSourceException(
            Settings.environmentName(setting)
                + " names "
                + path
                + ", which is not an executable file");
      }
      return found(path, Map.of());
    }
    Optional<Path> onPath =
        onPath(program).or(() -> newest(program, Path.of("/"), List.of(versions)));
    if (onPath.isPresent()) {
      return found(onPath.get(), Map.of());
    }
    Optional<Path> folder = serversFolder();
    if (folder.isEmpty()) {
      throw new UnsuitableSourceException(
          "there is no "
              + program
              + " on the PATH, and no folder "
              + SERVERS
              + " in this directory or above");
    }
    Optional<Path> unpacked =
        Stream.of("bin", "usr/bin", "usr/sbin")
            .map(below -> folder.get().resolve(below).resolve(program))
            .filter(Files::isExecutable)
            .findFirst()
            .or(() -> newest(program, folder.get(), List.of(versions)));
    if (unpacked.isPresent()) {
      return found(unpacked.get(), libraries(folder.get()));
    }
    throw new UnsuitableSourceException(
        "there is no " + program + " on the PATH or in " + folder.get());
  }

  private static BinaryInstallation found(Path program, Map<String, String> environment) {
    return new BinaryInstallation("binary " + program, program, environment);
  }

  /** {@return this installation with additional variables in its environment} */
  public BinaryInstallation with(Map<String, String> more) {
    Map<String, String> all = new HashMap<>(environment);
    all.putAll(more);
    return new BinaryInstallation(source, program, all);
  }

  @Override
  public ServerProcess process(Workspace workspace, Path directory, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(program.toString());
    command.addAll(arguments);
    return new LocalProcess(workspace, command, environment, directory);
  }

  /** {@return the first program of one of these names on the {@code PATH}} */
  public static Optional<Path> onPath(String... programs) {
    String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
    // Debian keeps servers in sbin, which is often not on the PATH.
    return Stream.concat(
            Stream.of(path.split(File.pathSeparator)), Stream.of("/usr/sbin", "/usr/local/sbin"))
        .filter(entry -> !entry.isEmpty())
        .flatMap(entry -> Stream.of(programs).map(program -> Path.of(entry, program)))
        .filter(file -> Files.isExecutable(file) && !Files.isDirectory(file))
        .findFirst();
  }

  private static Optional<Path> newest(String program, Path root, List<String> versions) {
    List<Path> found = new ArrayList<>();
    for (String directory : versions) {
      try (Stream<Path> each = Files.list(root.resolve(directory))) {
        each.map(version -> version.resolve("bin").resolve(program))
            .filter(Files::isExecutable)
            .forEach(found::add);
      } catch (IOException absent) {
        // most systems lack it
      }
    }
    // The longer version number is newer; numbers of the same length compare as strings.
    return found.stream()
        .max(
            Comparator.comparingInt((Path path) -> path.toString().length())
                .thenComparing(Comparator.naturalOrder()));
  }

  /** {@return the folder of the setting, or the nearest one in or above the working directory} */
  private static Optional<Path> serversFolder() {
    Optional<String> named = Settings.get("interlock.servers");
    if (named.isPresent()) {
      return named.map(Path::of).filter(Files::isDirectory);
    }
    return Stream.iterate(Path.of("").toAbsolutePath(), java.util.Objects::nonNull, Path::getParent)
        .map(directory -> directory.resolve(SERVERS))
        .filter(Files::isDirectory)
        .findFirst();
  }

  /**
   * {@return the environment in which the system's loader finds the libraries of unpacked packages;
   * empty if there are none}
   */
  public static Map<String, String> unpackedLibraries() {
    return serversFolder().map(BinaryInstallation::libraries).orElse(Map.of());
  }

  private static Map<String, String> libraries(Path folder) {
    List<String> directories = new ArrayList<>();
    for (String lib : List.of("usr/lib", "lib")) { // some of Debian's packages still use the latter
      Path directory = folder.resolve(lib).toAbsolutePath();
      try (Stream<Path> below = Files.list(directory)) {
        below.filter(Files::isDirectory).map(Path::toString).forEach(directories::add);
        directories.add(directory.toString());
      } catch (NoSuchFileException absent) {
        // no package has this directory
      } catch (IOException e) {
        throw new UncheckedIOException("cannot read " + directory, e);
      }
    }
    return directories.isEmpty()
        ? Map.of()
        : Map.of("LD_LIBRARY_PATH", String.join(File.pathSeparator, directories));
  }
}
