package dev.interlock.redis;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** Opens backends without the engine, and calls them as the engine would. */
final class Backends {

  static final TimeSource TIME = TimeSource.system();
  static final Duration TTL = Duration.ofSeconds(30);

  /** Long, because the disk of a server may stall, and a test must not fail for that. */
  private static final Duration REPLY_TIMEOUT = Duration.ofSeconds(10);

  private static final String ID_CHARACTERS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  private Backends() {}

  static BackendContext context(LockOptions options) {
    return new BackendContext() {
      @Override
      public LockOptions options() {
        return options;
      }

      @Override
      public TimeSource time() {
        return TIME;
      }

      @Override
      public void reportLoss(Claim claim, LossReason reason, String detail) {
        throw new AssertionError("Redis reports no loss on its own");
      }
    };
  }

  /** The default, for clients that the user supplies. */
  static BackendContext context() {
    return context(LockOptions.builder().requestTimeout(REPLY_TIMEOUT).build());
  }

  /** A Jedis configuration with the same long time-outs. */
  static JedisClientConfig jedisConfig() {
    return DefaultJedisClientConfig.builder()
        .timeoutMillis(Math.toIntExact(REPLY_TIMEOUT.toMillis()))
        .build();
  }

  static LockBackend open(String uri) {
    return open(uri, REPLY_TIMEOUT);
  }

  static LockBackend open(String uri, Duration requestTimeout) {
    LockUri parsed = LockUri.parse(uri);
    return LockProviders.find().usable().stream()
        .filter(provider -> provider.schemes().contains(parsed.scheme()))
        .findFirst()
        .orElseThrow()
        .open(parsed, context(LockOptions.builder().requestTimeout(requestTimeout).build()));
  }

  /**
   * Opens a client, of one server, that joins requests when more than a few threads send some.
   *
   * @param maxSeparate the number of threads whose requests are not joined
   */
  static LockClient client(String uri, LockOptions options, int maxSeparate) {
    LockUri parsed = LockUri.parse(uri);
    return LockClient.using(
        context -> {
          RedisUri redis = new RedisUri(parsed, options.requestTimeout());
          return new Opening(
                  RedisTopology.SINGLE, uri, redis.servers.tls(), RedisSettings.defaults(), context)
              .on(
                  () ->
                      PooledNodes.of(
                          redis.pool(redis.server(), redis.servers.clientConfig(0)), maxSeparate));
        },
        options);
  }

  static Claim claim(String name) {
    return claim(name, TTL);
  }

  static Claim claim(String name, Duration ttl) {
    return claim(name, Share.EXCLUSIVE, ttl, Duration.ZERO);
  }

  /** A claim of a caller that does not wait. */
  static Claim claim(String name, Share share) {
    return claim(name, share, TTL, Duration.ZERO);
  }

  static Claim claim(String name, Share share, Duration ttl, Duration reservation) {
    StringBuilder id = new StringBuilder();
    for (int i = 0; i < 27; i++) {
      id.append(ID_CHARACTERS.charAt(ThreadLocalRandom.current().nextInt(64)));
    }
    return new Claim(
        name, id.toString(), ttl, true, "host/1/test", System.nanoTime(), share, reservation);
  }

  static Deadline soon() {
    return Deadline.in(TIME, REPLY_TIMEOUT);
  }

  /** Takes a lock that must be free. */
  static Grant take(LockBackend backend, Claim claim) throws InterruptedException {
    Attempt attempt = backend.tryAcquire(claim, soon());
    if (attempt instanceof Attempt.Granted granted) {
      return granted.grant();
    }
    throw new AssertionError(claim + " was not granted: " + attempt);
  }

  static boolean isBusy(LockBackend backend, String name) throws InterruptedException {
    return backend.tryAcquire(claim(name), soon()) instanceof Attempt.Busy;
  }

  /** Makes a backend use several connections at the same time, which it keeps. */
  static void occupyConnections(RedisServer server, LockBackend backend, int count)
      throws InterruptedException {
    server.pause();
    CompletableFuture<?>[] all = new CompletableFuture<?>[count];
    CountDownLatch started = new CountDownLatch(count);
    for (int i = 0; i < count; i++) {
      all[i] =
          CompletableFuture.runAsync(
              () -> {
                started.countDown();
                try {
                  backend.inspect("job", soon());
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              },
              command -> new Thread(command).start());
    }
    started.await();
    server.resume();
    CompletableFuture.allOf(all).join();
  }
}
