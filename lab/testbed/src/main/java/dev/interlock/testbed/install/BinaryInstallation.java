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
 * @param how how it was found
 * @param environment what has to be added to the environment for it to run
 */
public record BinaryInstallation(String how, Path program, Map<String, String> environment)
    implements Installation {

  /** The folder of the project in which server packages are unpacked without being installed. */
  private static final Path SERVERS = Path.of(".interlock", "servers");

  /**
   * Looks for a program: where the user's setting says, on the {@code PATH}, in the project's
   * servers folder.
   *
   * @param program the program's file name
   * @param setting the setting that may name its path
   * @param versions a directory, below the root or the servers folder, that has one for each
   *     version with the program in its {@code bin}; of these the newest is taken
   * @throws UnsuitableWayException if it is in none of these places, with their list
   */
  public static BinaryInstallation find(String program, String setting, String... versions)
      throws UnsuitableWayException {
    if (!LocalProcess.isSupported()) {
      throw new UnsuitableWayException("local processes need the signals of a POSIX system");
    }
    Optional<String> named = Settings.get(setting);
    if (named.isPresent()) {
      Path path = Path.of(named.get());
      if (!Files.isExecutable(path)) {
        throw new UnsuitableWayException(
            Settings.environmentName(setting) + " names " + path + ", which is no program");
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
      throw new UnsuitableWayException(
          "no " + program + " on the PATH, and no folder " + SERVERS + " here or above");
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
    throw new UnsuitableWayException("no " + program + " on the PATH or in " + folder.get());
  }

  private static BinaryInstallation found(Path program, Map<String, String> environment) {
    return new BinaryInstallation("binary " + program, program, environment);
  }

  /** The same with more in the environment. */
  public BinaryInstallation with(Map<String, String> more) {
    Map<String, String> all = new HashMap<>(environment);
    all.putAll(more);
    return new BinaryInstallation(how, program, all);
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
        // as on most systems
      }
    }
    // Numbers of one length are in the order of their texts, and a longer one is higher.
    return found.stream()
        .max(
            Comparator.comparingInt((Path path) -> path.toString().length())
                .thenComparing(Comparator.naturalOrder()));
  }

  /** The nearest servers folder at or above the working directory, or where the setting says. */
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
   * The environment in which a program finds the libraries of unpacked packages, which the system's
   * loader does not know of; empty if no packages have been unpacked.
   */
  public static Map<String, String> unpackedLibraries() {
    return serversFolder().map(BinaryInstallation::libraries).orElse(Map.of());
  }

  private static Map<String, String> libraries(Path folder) {
    List<String> directories = new ArrayList<>();
    for (String lib : List.of("usr/lib", "lib")) { // of Debian's packages some still use the latter
      Path directory = folder.resolve(lib).toAbsolutePath();
      try (Stream<Path> below = Files.list(directory)) {
        below.filter(Files::isDirectory).map(Path::toString).forEach(directories::add);
        directories.add(directory.toString());
      } catch (NoSuchFileException absent) {
        // no package has it
      } catch (IOException e) {
        throw new UncheckedIOException("cannot read " + directory, e);
      }
    }
    return directories.isEmpty()
        ? Map.of()
        : Map.of("LD_LIBRARY_PATH", String.join(File.pathSeparator, directories));
  }
}
