package dev.interlock.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine.IVersionProvider;

/** The version of the build, which Maven writes into a resource. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() throws IOException {
    try (InputStream resource = Version.class.getResourceAsStream("version.txt")) {
      if (resource == null) {
        throw new IOException("version.txt is missing from this build");
      }
      String version = new String(resource.readAllBytes(), StandardCharsets.UTF_8).strip();
      return new String[] {
        "interlock " + version, "Java " + Runtime.version() + " on " + System.getProperty("os.name")
      };
    }
  }
}
