package dev.interlock.redis.server;

import dev.interlock.LockConfigurationException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import redis.clients.jedis.UnifiedJedis;

/** Checks the version of Jedis before any class is loaded that older versions lack. */
public final class JedisVersion {

  /** The class that Jedis introduced last, of those used here. */
  private static final String NEWEST_CLASS = "redis.clients.jedis.RedisClient";

  private JedisVersion() {}

  /**
   * Checks that Jedis is new enough.
   *
   * @throws LockConfigurationException if it is too old
   */
  public static void require() {
    try {
      Class.forName(NEWEST_CLASS, false, UnifiedJedis.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new LockConfigurationException(
          "redis: Interlock needs Jedis 8, and found "
              + found()
              + "; set the version of redis.clients:jedis (Spring Boot: jedis.version)",
          e);
    }
  }

  private static String found() {
    Properties properties = new Properties();
    try (InputStream in = UnifiedJedis.class.getResourceAsStream("pom.properties")) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty("version", "an older one");
  }
}
