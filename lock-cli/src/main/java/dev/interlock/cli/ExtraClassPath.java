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

/** Adds the backends in jars and directories that the user names. */
final class ExtraClassPath {
  private static final String SERVICE_ENTRY = "META-INF/services/" + LockProvider.class.getName();

  private ExtraClassPath() {}

  /**
   * Sets the context class loader of this thread and of all threads that it starts to one that also
   * finds these providers. The loader stays open until the JVM ends.
   */
  static void install(List<Path> entries, CommandLine command) {
    URLClassLoader loader =
        new URLClassLoader(
            entries.stream().map(entry -> url(entry, command)).toArray(URL[]::new),
            ExtraClassPath.class.getClassLoader());
    if (loader.findResource(SERVICE_ENTRY) == null) {
      throw new ParameterException(
          command,
          ("--classpath: no backend in %s; name a jar or directory with the file %s, which names the"
                  + " provider's class")
              .formatted(entries, SERVICE_ENTRY));
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
