package dev.interlock.peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The versions of the libraries under test, from the names of their jars. */
final class Versions {
  private Versions() {}

  static String of(String artifact) {
    Pattern jar = Pattern.compile("/" + Pattern.quote(artifact) + "-([0-9][^/!]*)\\.jar!");
    String inside = "META-INF/MANIFEST.MF";
    try {
      List<URL> manifests = Collections.list(Versions.class.getClassLoader().getResources(inside));
      for (URL manifest : manifests) {
        Matcher matcher = jar.matcher(manifest.toString());
        if (matcher.find()) {
          return matcher.group(1);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw new IllegalStateException(artifact + " is not on the class path");
  }
}
