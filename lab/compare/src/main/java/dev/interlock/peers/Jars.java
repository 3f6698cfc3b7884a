package dev.interlock.peers;

import java.net.URI;
import java.nio.file.Path;
import java.security.CodeSource;

/** Finds the versions of libraries by the names of their jars. */
public final class Jars {
  private Jars() {}

  /** {@return the name of the jar of a class, without {@code .jar}} */
  public static String of(Class<?> type) {
    CodeSource source = type.getProtectionDomain().getCodeSource();
    if (source == null) {
      return type.getName();
    }
    Path file = Path.of(URI.create(source.getLocation().toString()));
    return String.valueOf(file.getFileName()).replaceAll("\\.jar$", "");
  }

  /** {@return the version of the library that a class belongs to} */
  static String version(String type) {
    try {
      return of(Class.forName(type)).replaceFirst("^.*?-(?=[0-9])", "");
    } catch (ClassNotFoundException e) {
      throw new IllegalArgumentException(e);
    }
  }
}
