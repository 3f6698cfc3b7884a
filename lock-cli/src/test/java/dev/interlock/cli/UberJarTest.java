package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** All backends merged into one jar in which the service files were lost. */
class UberJarTest {

  /** Loads its own copy of all classes, and finds no service files. */
  private static final class UberJar extends URLClassLoader {
    UberJar() throws MalformedURLException {
      super(classPath(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath() throws MalformedURLException {
      String[] entries = System.getProperty("java.class.path").split(File.pathSeparator);
      URL[] urls = new URL[entries.length];
      for (int i = 0; i < entries.length; i++) {
        urls[i] = Path.of(entries[i]).toUri().toURL();
      }
      return urls;
    }

    @Override
    public Enumeration<URL> findResources(String name) throws IOException {
      return name.equals(ExtraJar.SERVICE)
          ? Collections.emptyEnumeration()
          : super.findResources(name);
    }

    /** Opens a client of this jar's classes, and returns the exception. */
    Throwable failureToOpen(String uri) throws Exception {
      Thread thread = Thread.currentThread();
      ClassLoader before = thread.getContextClassLoader();
      thread.setContextClassLoader(this);
      try {
        Class<?> client = loadClass(LockClient.class.getName());
        return assertThrows(
                InvocationTargetException.class,
                () -> client.getMethod("open", String.class).invoke(null, uri))
            .getCause();
      } finally {
        thread.setContextClassLoader(before);
      }
    }
  }

  @Test
  void theMessageNamesTheServiceFilesToMerge() throws Exception {
    Map<String, String> artifacts =
        Map.of(
            "redis://localhost", "lock-redis",
            "redlock://localhost", "lock-redlock",
            "etcd://localhost", "lock-etcd",
            "zookeeper://localhost", "lock-zookeeper",
            "mariadb://localhost/x", "lock-jdbc");
    try (UberJar jar = new UberJar()) {
      for (Map.Entry<String, String> artifact : artifacts.entrySet()) {
        Throwable failure = jar.failureToOpen(artifact.getKey());
        assertEquals(LockConfigurationException.class.getName(), failure.getClass().getName());
        assertTrue(
            failure.getMessage().contains(artifact.getValue() + " is on the class path"),
            failure.toString());
        assertFalse(failure.getMessage().contains("were found take"), failure.toString());
        assertTrue(failure.getMessage().contains(ExtraJar.SERVICE), failure.toString());
      }
    }
  }
}
