package dev.interlock.testbed.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Writes and deletes files of servers. */
public final class Directories {
  private Directories() {}

  /** Writes the lines of a file, and returns the file. */
  public static Path write(Path file, List<String> lines) {
    try {
      return Files.write(file, lines);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + file, e);
    }
  }

  /** Deletes a directory with its contents, if it exists. Links are not followed. */
  public static void delete(Path directory) {
    try (Stream<Path> all = Files.walk(directory)) {
      List<Path> innermostFirst = all.sorted(Comparator.reverseOrder()).toList();
      for (Path path : innermostFirst) {
        Files.deleteIfExists(path);
      }
    } catch (NoSuchFileException absent) {
      // already deleted
    } catch (IOException e) {
      throw new UncheckedIOException("cannot delete " + directory, e);
    }
  }
}
