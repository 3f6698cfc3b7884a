package dev.interlock.verify;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A Maven module that has been built.
 *
 * @param name the name of its directory
 * @param classPath what its tests run on, its own classes first
 */
record MavenModule(String name, Path directory, String classPath) {

  /** Where the build writes the class path of a module's tests, below its directory. */
  private static final String DEPENDENCIES = "target/test-class-path";

  /** Returns the modules below a directory that have tests, in the order of their names. */
  static List<MavenModule> below(Path top) throws IOException {
    try (Stream<Path> directories = Files.list(top)) {
      return directories
          .filter(directory -> Files.isDirectory(directory.resolve("target/test-classes")))
          .sorted()
          .map(MavenModule::of)
          .toList();
    }
  }

  private static MavenModule of(Path directory) {
    Path target = directory.resolve("target");
    try {
      String dependencies = Files.readString(directory.resolve(DEPENDENCIES)).strip();
      return new MavenModule(
          directory.getFileName().toString(),
          directory,
          String.join(
              File.pathSeparator,
              target.resolve("test-classes").toString(),
              target.resolve("classes").toString(),
              dependencies));
    } catch (IOException e) {
      throw new IllegalStateException(directory + " has not been built by ./verify", e);
    }
  }

  /** Where its compiled tests are. */
  Path testClasses() {
    return directory.resolve("target/test-classes");
  }
}
