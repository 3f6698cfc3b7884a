package dev.interlock.tck.process;

import static java.util.Map.Entry.comparingByValue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;

/** The JDKs of this machine. */
final class Jdks {
  private static final int MIN_FEATURE = 17;

  private Jdks() {}

  /** {@return the home of this JVM} */
  static Path own() {
    return Path.of(System.getProperty("java.home"));
  }

  /**
   * {@return the home of the newest JDK of another version, or of this JVM if there is none} It is
   * looked for beside this JVM, and in environment variables such as {@code JAVA_HOME_25_X64}.
   */
  static Path other() throws IOException {
    Map<Path, Integer> features = new HashMap<>();
    try (Stream<Path> beside = Files.list(own().toAbsolutePath().resolveSibling("."))) {
      beside.forEach(home -> features.put(home, feature(home)));
    }
    System.getenv()
        .forEach(
            (name, home) -> {
              if (name.startsWith("JAVA_HOME_")) {
                features.put(Path.of(home), feature(Path.of(home)));
              }
            });
    features.values().removeIf(f -> f < MIN_FEATURE || f == Runtime.version().feature());
    return features.entrySet().stream()
        .max(comparingByValue())
        .map(Map.Entry::getKey)
        .orElseGet(Jdks::own);
  }

  /** {@return the version of a JDK, such as 17; 0 if there is no JDK} */
  private static int feature(Path home) {
    Properties release = new Properties();
    try (InputStream in = Files.newInputStream(home.resolve("release"))) {
      release.load(in);
      return Files.isExecutable(home.resolve("bin/java"))
          ? Runtime.Version.parse(release.getProperty("JAVA_VERSION", "").replace("\"", ""))
              .feature()
          : 0;
    } catch (IOException | IllegalArgumentException e) {
      return 0;
    }
  }
}
