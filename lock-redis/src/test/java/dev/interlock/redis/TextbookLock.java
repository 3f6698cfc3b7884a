package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;

/**
 * A lock on one Redis in as few commands as tutorials need: set if absent with an expiry, and
 * compare before deleting or extending. It is right but for tokens and messages, which it does not
 * promise; subclasses leave a part of it out, as their sources do.
 */
class TextbookLock implements LockBackend {
  private static final BackendInfo INFO =
      BackendInfoBuilder.of("textbook", "one key per lock on one Redis")
          .granularity(Duration.ofMillis(10))
          .minTtl(RedisBackend.MIN_TTL)
          .guarantee(
              Guarantee.EXCLUSION_AND_TOKENS,
              Fault.CLIENT_KILLED,
              Fault.CLIENT_STOPPED,
              Fault.CONNECTION_LOST,
              Fault.PARTITION)
          .guarantee(Guarantee.NOT_APPLICABLE, Fault.MINORITY_LOST, Fault.LEADER_CHANGED)
          .build();

  final RedisClient redis;
  final TimeSource time;
  private final String endpoint;

  TextbookLock(String uri, BackendContext context) {
    LockUri.Endpoint server = LockUri.parse(uri).endpoints(6379).get(0);
    this.endpoint = server.toString();
    this.time = context.time();
    int timeout = (int) context.options().requestTimeout().toMillis();
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(100);
    pool.setMaxWait(context.options().requestTimeout());
    this.redis =
        RedisClient.builder()
            .hostAndPort(new HostAndPort(server.host(), server.port()))
            .clientConfig(
                DefaultJedisClientConfig.builder()
                    .connectionTimeoutMillis(timeout / 5) // made anew within a request
                    .socketTimeoutMillis(timeout)
                    .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                    .build())
            .poolConfig(pool)
            .build();
  }

  // --- steps that a specimen replaces ---

  /** Sets the key if it is not set. */
  boolean take(String key, Claim claim) {
    return "OK"
        .equals(redis.set(key, claim.id(), SetParams.setParams().nx().px(millis(claim.ttl()))));
  }

  /** Extends the key if it is ours. */
  boolean extend(String key, Claim claim) {
    return is(
        redis.eval(
            "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end"
                + " return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
            List.of(key),
            List.of(claim.id(), Long.toString(millis(claim.ttl())))));
  }

  /** Deletes the key if it is ours. */
  boolean delete(String key, Claim claim) {
    return is(
        redis.eval(
            "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end"
                + " return redis.call('DEL', KEYS[1])",
            List.of(key),
            List.of(claim.id())));
  }

  // --- the rest ---

  boolean setIfAbsent(String key, String value) {
    return "OK".equals(redis.set(key, value, SetParams.setParams().nx())); // SETNX is no more
  }

  static long millis(Duration ttl) {
    return ttl.toMillis();
  }

  static boolean is(Object reply) {
    return Long.valueOf(1).equals(reply);
  }

  static String key(String name) {
    return LockKeys.of(RedisSettings.defaults().namespace(), name).toString();
  }

  private <T> T ask(Supplier<T> question) {
    try {
      return question.get();
    } catch (JedisException e) {
      throw new LockUnavailableException(INFO.name(), endpoint, String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public BackendInfo info() {
    return INFO;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) {
    return ask(() -> take(key(claim.name()), claim))
        ? new Attempt.Granted(claim, 0)
        : new Attempt.Busy(Duration.ofMillis(50));
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) {
    Claim claim = grant.claim();
    return ask(() -> extend(key(claim.name()), claim))
        ? new Renewal.Confirmed()
        : new Renewal.Lost(LossReason.TAKEN, "the key is another's");
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) {
    return ask(() -> delete(key(claim.name()), claim));
  }

  @Override
  public LockState inspect(String name, Deadline deadline) {
    return ask(() -> redis.exists(key(name)))
        ? LockStates.held(name, null, null, null, List.of())
        : LockStates.free(name);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) {
    return ask(() -> redis.del(key(name))) > 0;
  }

  @Override
  public void close() {
    redis.close();
  }
}
