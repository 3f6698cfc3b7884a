package dev.interlock.cli;

import dev.interlock.spi.LockProvider;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Makes the backends in jars and directories that the user names known to the service loader. */
final class ExtraClassPath {
  private static final String SERVICE_ENTRY = "META-INF/services/" + LockProvider.class.getName();

  private ExtraClassPath() {}

  /**
   * Becomes the context class loader, through which providers are looked for, of this thread and of
   * all that it starts. Stays open as long as the JVM.
   */
  static void install(List<Path> entries, CommandLine command) {
    URLClassLoader loader =
        new URLClassLoader(
            entries.stream().map(entry -> url(entry, command)).toArray(URL[]::new),
            ExtraClassPath.class.getClassLoader());
    if (loader.findResource(SERVICE_ENTRY) == null) {
      throw new ParameterException(
          command,
          "--classpath: no backend in "
              + entries
              + ": a jar or directory with the file "
              + SERVICE_ENTRY
              + ", which names the provider's class, is needed");
    }
    Thread.currentThread().setContextClassLoader(loader);
  }

  private static URL url(Path entry, CommandLine command) {
    if (!Files.isReadable(entry)) {
      throw new ParameterException(
          command, "--classpath: there is no readable jar or directory " + entry);
    }
    try {
      return entry.toUri().toURL();
    } catch (MalformedURLException e) {
      throw new ParameterException(command, "--classpath: " + entry + " cannot be used", e);
    }
  }
}
