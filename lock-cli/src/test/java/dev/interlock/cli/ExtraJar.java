package dev.interlock.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.cli.extra.TinyProvider;
import dev.interlock.spi.LockProvider;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/** Jars with the backends of {@link dev.interlock.cli.extra}. */
final class ExtraJar {
  static final String SERVICE = "META-INF/services/" + LockProvider.class.getName();

  /** Receives class files, with their names in a jar. */
  interface ClassFiles {
    void add(String name, byte[] content) throws IOException;
  }

  private ExtraJar() {}

  /** Creates a jar whose service entry names the provider, or that has no service entry. */
  static Path in(Path directory, Class<? extends LockProvider> provider) throws IOException {
    return naming(directory, provider == null ? null : provider.getName());
  }

  /** Creates a jar whose service entry names this class, or that has no service entry. */
  static Path naming(Path directory, String provider) throws IOException {
    Path file = Files.createTempFile(directory, "extra", ".jar");
    try (OutputStream stream = Files.newOutputStream(file);
        JarOutputStream jar = new JarOutputStream(stream)) {
      ClassFiles entries =
          (name, content) -> {
            jar.putNextEntry(new JarEntry(name));
            jar.write(content);
            jar.closeEntry();
          };
      if (provider != null) {
        entries.add(SERVICE, provider.getBytes(UTF_8));
      }
      copyClasses(entries);
    }
    return file;
  }

  static void copyClasses(ClassFiles target) throws IOException {
    String folder = TinyProvider.class.getPackageName().replace('.', '/') + "/";
    try (DirectoryStream<Path> files = Files.newDirectoryStream(classes(), "*.class")) {
      for (Path file : files) {
        target.add(folder + file.getFileName(), Files.readAllBytes(file));
      }
    }
  }

  private static Path classes() {
    try {
      URI location = TinyProvider.class.getResource("TinyProvider.class").toURI();
      return Path.of(location).getParent();
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }
}
