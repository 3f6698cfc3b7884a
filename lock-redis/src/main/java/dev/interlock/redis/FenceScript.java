package dev.interlock.redis;

import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** A script for a Jedis client of the program. Sends its source only if the server lacks it. */
final class FenceScript {

  private final String source;
  private final String digest;

  FenceScript(String source) {
    this.source = source;
    this.digest = sha1(source);
  }

  @SuppressWarnings("deprecation") // Redis identifies scripts by SHA-1.
  private static String sha1(String source) {
    return Hashing.sha1().hashString(source, StandardCharsets.UTF_8).toString();
  }

  Object run(UnifiedJedis jedis, List<String> keys, List<String> arguments) {
    try {
      return jedis.evalsha(digest, keys, arguments);
    } catch (JedisNoScriptException e) {
      return jedis.eval(source, keys, arguments);
    }
  }
}
