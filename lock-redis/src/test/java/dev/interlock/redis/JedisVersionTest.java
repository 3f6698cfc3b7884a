package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.UnifiedJedis;

/** With a Jedis that lacks what came later, the message says which version is needed. */
class JedisVersionTest {

  /** Loads everything but the API anew, and has no RedisClient, as with Jedis 6. */
  private static final class OlderJedis extends URLClassLoader {
    OlderJedis() throws IOException {
      super(classPath(), JedisVersionTest.class.getClassLoader());
    }

    private static URL[] classPath() throws IOException {
      List<URL> urls = new ArrayList<>();
      for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
        urls.add(Path.of(entry).toUri().toURL());
      }
      return urls.toArray(URL[]::new);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.matches("redis\\.clients\\.jedis\\.(Redis\\w*Client|MultiDb\\w*)")) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith("redis.") && !name.startsWith("dev.interlock.redis")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded != null ? loaded : findClass(name);
      }
    }
  }

  @Test
  void anOlderVersionIsRefused() throws Exception {
    try (OlderJedis loader = new OlderJedis()) {
      Class<?> jedis = loader.loadClass(UnifiedJedis.class.getName());
      Method using = loader.loadClass(RedisLocks.class.getName()).getMethod("using", jedis);
      Throwable problem =
          assertThrows(InvocationTargetException.class, () -> using.invoke(null, (Object) null))
              .getCause();
      String message = assertInstanceOf(LockConfigurationException.class, problem).getMessage();
      assertTrue(
          message.matches("redis: Interlock needs Jedis 8, and found 8\\.[0-9.]+; set .*"),
          message);
    }
  }
}
