package dev.interlock.redis.server;

import com.google.common.primitives.Bytes;
import dev.interlock.spi.NameEncoding;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * The keys of one lock on Redis.
 *
 * <p>Braces, the escape character, and invisible characters of a name are percent-encoded. So two
 * names never share a key, no name's key is the fence of another, both keys of a name are in one
 * hash slot, and a person can read them. A namespace has no braces, see {@code RedisSettings}.
 */
public final class LockKeys {

  private static final NameEncoding NAMES = NameEncoding.ofVisible("{}");

  private static final byte[] FENCE = ":fence".getBytes(StandardCharsets.UTF_8);

  /** The one key that is stored: leases keep this object, and the other key is made from it. */
  private final byte[] lock;

  private LockKeys(String text) {
    this.lock = text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * {@return the keys of a lock}
   *
   * @param namespace the prefix of all keys; without braces
   * @param name the lock's name
   */
  public static LockKeys of(String namespace, String name) {
    return new LockKeys(namespace + ":{" + NAMES.encode(name) + '}');
  }

  /**
   * {@return a pattern for {@code SCAN} that matches the locks whose names begin with a prefix, and
   * perhaps others}
   *
   * @param namespace the prefix of all keys
   * @param prefix the prefix of the names
   */
  public static String pattern(String namespace, String prefix) {
    // A high surrogate at the end is half a character, and cannot be encoded alone.
    int length = prefix.length();
    boolean isCut = length > 0 && Character.isHighSurrogate(prefix.charAt(length - 1));
    String start = of(namespace, isCut ? prefix.substring(0, length - 1) : prefix).toString();
    start = start.substring(0, start.length() - 1);
    return start.replaceAll("[\\\\*?\\[\\]]", "\\\\$0") + "*}";
  }

  /**
   * {@return the name of the lock that a key belongs to, or null if it belongs to none}
   *
   * @param namespace the prefix of all keys
   * @param key any key of the server
   */
  public static @Nullable String name(String namespace, byte[] key) {
    String text = new String(key, StandardCharsets.UTF_8);
    String start = namespace + ":{";
    if (!text.startsWith(start) || !text.endsWith("}")) {
      return null;
    }
    String name = NAMES.decode(text.substring(start.length(), text.length() - 1));
    return name == null || name.isEmpty() ? null : name;
  }

  /** {@return the key that exists while the lock is held; must not be modified} */
  public byte[] lock() {
    return lock;
  }

  /** {@return the key of the last fencing token} */
  public byte[] fence() {
    return Bytes.concat(lock, FENCE);
  }

  /**
   * {@return the keys that a script takes}
   *
   * @param script a script about one lock
   */
  public List<byte[]> of(Script script) {
    return script.needsFence() ? List.of(lock, fence()) : List.of(lock);
  }

  /** {@return the channel on which releases are published; it has the name of the lock's key} */
  public String channel() {
    return new String(lock, StandardCharsets.UTF_8);
  }

  /** {@return the hash slot of both keys} */
  public int slot() {
    return JedisClusterCRC16.getSlot(lock);
  }

  @Override
  public String toString() {
    return channel();
  }
}
