package dev.interlock.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.StaleTokenException;
import dev.interlock.redis.server.JedisVersion;
import dev.interlock.redis.server.LockKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * Refuses late writes to Redis. A key beside the data, the fence, stores the fencing token of each
 * lock's latest holder, and the script that writes checks it. The locks may be on any backend.
 *
 * <pre>{@code
 * RedisFence fence = RedisFence.using(jedis);
 * try (Lease lease = lock.acquire()) {
 *   fence.claim(lease); // before anything is read
 *   int quantity = Integer.parseInt(jedis.get("{stock/42}:quantity"));
 *   fence.set(lease, "{stock/42}:quantity", "" + (quantity - 1));
 * }
 * }</pre>
 *
 * <p>A claim raises the fence to the lease's token. From then on the writes of all earlier holders
 * are refused. Each call is one request: a script that Redis executes in one step.
 *
 * <p>In a Redis Cluster the fence must be in the hash slot of the data. By default the fence of the
 * lock {@code stock/42} is the key {@code interlock-fence:{stock/42}}, so the keys of its data need
 * the hash tag <code>{stock/42}</code>. {@link #withKeys} can adapt the fence's key to your keys.
 * Read the data from the primary; a replica may be older than the claim.
 *
 * <p>A fence expires a day after its last use ({@link #withRetention}). A write needs the claim of
 * its own token, so without a fence every write is refused until a holder claims and reads again.
 * The same is true if a fail-over loses the claim. Redis replicates in order, so a replica that has
 * a later holder's write also has that holder's claim. But a fail-over, or a restart without an
 * append-only file, can lose a confirmed write, and a fence cannot bring it back.
 *
 * <p>If the reply to a write is lost, the write may still arrive later. Repeat the same write; or
 * release the lock and acquire it again, because the next claim keeps the late write out. A {@link
 * RedisClusterClient} itself repeats requests after a connection has broken, so let scripts write
 * values, not increments. Claims may be repeated.
 *
 * <p>Do not claim the tokens of readers, or of a semaphore's permits: several of them are valid at
 * once. An instance is immutable and may be used by all threads. It never closes the Jedis client.
 * Calls block as the client does, and throw its {@link
 * redis.clients.jedis.exceptions.JedisException}s.
 */
@SuppressWarnings("deprecation") // JedisCluster: programs still have it.
public final class RedisFence {

  private static final String NAMESPACE = "interlock-fence";
  private static final Duration DEFAULT_RETENTION = Duration.ofDays(1);
  private static final Duration MAX_RETENTION = Duration.ofDays(3650);

  // Tokens are compared as text, because a Lua number is exact only up to 2^53.
  private static final FenceScript CLAIM =
      new FenceScript(
          """
          local claimed = redis.call('GET', KEYS[1])
          if claimed then
            if not string.find(claimed, '^[1-9]%d*$') then
              return redis.error_reply('ERR ' .. KEYS[1] .. ' is not a fence: its value is not a token')
            end
            if #claimed > #ARGV[1] or (#claimed == #ARGV[1] and claimed > ARGV[1]) then
              return claimed
            end
          end
          redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
          return ARGV[1]""");

  // On the first line of the program's script, so that line numbers in its errors stay right.
  private static final String CHECK =
      "do local claimed = redis.call('GET', KEYS[1])"
          + " if claimed ~= ARGV[1] then return {0, claimed} end end"
          + " redis.call('PEXPIRE', KEYS[1], ARGV[2])"
          + " table.remove(KEYS, 1) table.remove(ARGV, 1) table.remove(ARGV, 1)"
          + " return {1, (function() ";
  private static final String END = "\nend)()}";

  private static final FenceScript SET = checked("return redis.call('SET', KEYS[1], ARGV[1])");

  private final UnifiedJedis jedis;
  private final UnaryOperator<String> keys;
  private final Duration retention;

  private RedisFence(UnifiedJedis jedis, UnaryOperator<String> keys, Duration retention) {
    this.jedis = jedis;
    this.keys = keys;
    this.retention = retention;
  }

  /**
   * Returns fences with default keys and retention.
   *
   * @param jedis a client of the Redis that has the data; of Jedis 8
   * @return the fences
   * @throws dev.interlock.LockConfigurationException if Jedis is older
   */
  public static RedisFence using(UnifiedJedis jedis) {
    JedisVersion.require();
    Objects.requireNonNull(jedis, "jedis");
    return new RedisFence(
        jedis, name -> LockKeys.of(NAMESPACE, name).toString(), DEFAULT_RETENTION);
  }

  /**
   * Returns the same fences under other keys.
   *
   * @param keys returns the key of the fence for the name of a lock; a different key for each name,
   *     with the hash tag of the data, and none of the data's own keys
   * @return the fences
   */
  public RedisFence withKeys(UnaryOperator<String> keys) {
    return new RedisFence(jedis, Objects.requireNonNull(keys, "keys"), retention);
  }

  /**
   * Returns the same fences with another retention: the time until a fence expires after the last
   * claim or write.
   *
   * @param retention 1 ms to 10 years. It must be longer than any process may pause: otherwise an
   *     old holder may claim a second time, and write what it read after its first claim. A holder
   *     that writes nothing for longer must claim and read again
   * @return the fences
   * @throws IllegalArgumentException if it is out of range
   */
  public RedisFence withRetention(Duration retention) {
    if (retention.compareTo(Duration.ofMillis(1)) < 0 || retention.compareTo(MAX_RETENTION) > 0) {
      throw new IllegalArgumentException(
          "retention must be between 1 ms and 3650 days, not " + retention);
    }
    return new RedisFence(jedis, keys, retention);
  }

  /**
   * Claims the token of a lease: raises the fence of the lock to this token.
   *
   * @param lease an exclusive lease, or the lease of a writer
   * @throws StaleTokenException if a later holder has claimed its token
   * @throws LeaseLostException if the lease is known to be lost; nothing was sent
   * @throws IllegalStateException if the lease was released; nothing was sent
   * @throws UnsupportedOperationException if the lease has no single token
   */
  public void claim(Lease lease) {
    lease.ensureHeld();
    claim(lease.name(), lease.fencingToken());
  }

  /**
   * Claims a token that another process has sent, or the token of one name of a {@code MultiLease}.
   *
   * @param name the lock's name
   * @param token the token of its lease
   * @throws StaleTokenException if a later holder has claimed its token
   * @throws IllegalArgumentException if the name is empty, or the token not positive
   */
  public void claim(String name, long token) {
    String own = text(name, token);
    String fence = keys.apply(name);
    Object claimed = CLAIM.run(jedis, List.of(fence), List.of(own, millis()));
    if (!own.equals(claimed)) {
      throw new StaleTokenException(name, token, claimed(fence, claimed));
    }
  }

  /**
   * Sets a key, if the claim of a lease is the latest.
   *
   * @param lease a lease whose token was claimed
   * @param key a key of the data
   * @param value its new value
   * @throws StaleTokenException if a later holder has claimed its token, or this token was not
   *     claimed
   * @throws LeaseLostException if the lease is known to be lost; nothing was sent
   * @throws IllegalStateException if the lease was released; nothing was sent
   * @throws IllegalArgumentException if the key is in another slot of the cluster than the fence
   * @throws UnsupportedOperationException if the lease has no single token
   */
  public void set(Lease lease, String key, String value) {
    lease.ensureHeld();
    run(SET, lease.name(), lease.fencingToken(), List.of(key), List.of(value));
  }

  /**
   * Runs a script, if the claim of a lease is the latest. Redis checks and executes in one step.
   *
   * @param lease a lease whose token was claimed
   * @param script Lua, as for {@code EVAL}; written by the program, never made of data
   * @param keys its {@code KEYS}
   * @param arguments its {@code ARGV}
   * @return the result of the script, as Jedis returns it for {@code EVAL}
   * @throws StaleTokenException if a later holder has claimed its token, or this token was not
   *     claimed
   * @throws LeaseLostException if the lease is known to be lost; nothing was sent
   * @throws IllegalStateException if the lease was released; nothing was sent
   * @throws IllegalArgumentException if a key is in another slot of the cluster than the fence, or
   *     the script begins with {@code #!}
   * @throws UnsupportedOperationException if the lease has no single token
   */
  @CanIgnoreReturnValue
  public @Nullable Object eval(
      Lease lease, String script, List<String> keys, List<String> arguments) {
    lease.ensureHeld();
    return eval(lease.name(), lease.fencingToken(), script, keys, arguments);
  }

  /**
   * Runs a script, if the claim of a token is the latest. The token may come from another process,
   * or from one name of a {@code MultiLease}.
   *
   * @param name the lock's name
   * @param token the token of its lease
   * @param script Lua, as for {@code EVAL}; written by the program, never made of data
   * @param keys its {@code KEYS}
   * @param arguments its {@code ARGV}
   * @return the result of the script, as Jedis returns it for {@code EVAL}
   * @throws StaleTokenException if a later holder has claimed its token, or this token was not
   *     claimed
   * @throws IllegalArgumentException if the name is empty, the token not positive, a key in another
   *     slot of the cluster than the fence, or if the script begins with {@code #!}
   */
  @CanIgnoreReturnValue
  public @Nullable Object eval(
      String name, long token, String script, List<String> keys, List<String> arguments) {
    if (script.startsWith("#!")) {
      throw new IllegalArgumentException(
          "a script with a #! line cannot be fenced: leave that line out");
    }
    return run(checked(script), name, token, keys, arguments);
  }

  private static FenceScript checked(String script) {
    return new FenceScript(CHECK + script + END);
  }

  private @Nullable Object run(
      FenceScript script, String name, long token, List<String> keys, List<String> arguments) {
    String own = text(name, token);
    String fence = this.keys.apply(name);
    requireSameSlot(fence, keys);
    List<String> allKeys = new ArrayList<>();
    allKeys.add(fence);
    allKeys.addAll(keys);
    List<String> allArguments = new ArrayList<>(List.of(own, millis()));
    allArguments.addAll(arguments);
    List<?> answer = (List<?>) script.run(jedis, allKeys, allArguments);
    Object result = answer.size() > 1 ? answer.get(1) : null;
    if (answer.get(0).equals(0L)) {
      throw new StaleTokenException(name, token, result == null ? null : claimed(fence, result));
    }
    if (result instanceof JedisDataException error) {
      throw error;
    }
    return result;
  }

  private static Long claimed(String fence, Object value) {
    try {
      return Long.valueOf(String.valueOf(value));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(fence + " is not a fence: its value is not a token", e);
    }
  }

  /** Refuses keys of other slots. Jedis does so too, but cannot say which key is the fence. */
  private void requireSameSlot(String fence, List<String> keys) {
    if (!(jedis instanceof RedisClusterClient || jedis instanceof JedisCluster)) {
      return;
    }
    for (String key : keys) {
      if (JedisClusterCRC16.getSlot(key) != JedisClusterCRC16.getSlot(fence)) {
        throw new IllegalArgumentException(
            "the key "
                + key
                + " and its fence "
                + fence
                + " are in different slots of the cluster: give them the same hash tag, by the name"
                + " of the key or RedisFence.withKeys");
      }
    }
  }

  private String millis() {
    return Long.toString(retention.toMillis());
  }

  private static String text(String name, long token) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a lock's name must not be empty");
    }
    if (token <= 0) {
      throw new IllegalArgumentException("a fencing token must be positive, not " + token);
    }
    return Long.toString(token);
  }
}
