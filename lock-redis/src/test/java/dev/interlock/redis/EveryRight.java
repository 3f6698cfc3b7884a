package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** The documented rights, and a client's life in which every kind of request is made. */
final class EveryRight {

  private static final Path PAGE = Path.of("..", "docs", "operating.md");

  private static final String FOREIGN =
      """
      redis.call('SELECT', ARGV[1])
      redis.call('DEL', KEYS[1])
      redis.call('LPUSH', KEYS[1], 'of somebody else')
      """;

  private EveryRight() {}

  static RedisRights documented(String name) throws IOException {
    return RedisRights.read(PAGE, name);
  }

  /**
   * Uses them.
   *
   * @param name a lock that lives on this server
   */
  static void use(String uri, String name, RedisServer server, List<RedisServer> all)
      throws Exception {
    String key = "interlock:{" + name + "}";
    server.call("FLUSHALL");
    server.call("SCRIPT", "FLUSH");
    try (LockBackend backend = Backends.open(uri)) {
      Claim claim = claim(name);
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(take(backend, claim), soon()));
      WakeUp news = new WakeUp(Backends.TIME);
      Watch watch = backend.watch(name, news);
      await("a watch", all, () -> news.await(Deadline.in(Backends.TIME, Duration.ofMillis(20))));
      assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(waiting(name), soon()));
      assertTrue(backend.release(claim, soon()));
      Claim served = waiting(name);
      take(backend, served);
      assertTrue(backend.release(served, soon()));
      watch.close();
      await("no watch", all, () -> !listens(all, key));

      take(backend, claim(name));
      assertTrue(backend.inspect(name, soon()).isHeld());
      assertTrue(lists(backend, name));
      assertTrue(backend.revoke(name, soon()));
      assertTrue(backend.forceRelease(name, soon()));
      assertFalse(backend.inspect(name, soon()).isHeld());

      Claim share = claim(name, Share.ofSemaphore(1, 2));
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(take(backend, share), soon()));
      assertInstanceOf(
          Attempt.Busy.class,
          backend.tryAcquire(
              claim(name, Share.ofSemaphore(2, 2), Backends.TTL, Duration.ofMinutes(1)), soon()));
      assertTrue(backend.inspect(name, soon()).isHeld());
      assertTrue(backend.revoke(name, soon()));
      assertTrue(backend.release(share, soon()));

      server.call("EVAL", FOREIGN, "1", key, uri.endsWith("/3") ? "3" : "0");
      assertThrows(LockConfigurationException.class, () -> backend.inspect(name, soon()));
    } finally {
      server.call("DEL", key);
    }
  }

  private static Claim waiting(String name) {
    return claim(name, Share.EXCLUSIVE, Backends.TTL, Duration.ofMinutes(1));
  }

  private static boolean lists(LockBackend backend, String name) throws InterruptedException {
    @Nullable String cursor = null;
    boolean listed = false;
    do {
      LockPage page = backend.list("", cursor, 100, soon());
      listed |= page.locks().stream().anyMatch(lock -> lock.name().equals(name));
      cursor = page.next();
    } while (cursor != null);
    return listed;
  }

  private static boolean listens(List<RedisServer> servers, String channel) throws IOException {
    for (RedisServer server : servers) {
      if (server.call("PUBSUB", "CHANNELS") instanceof List<?> list && list.contains(channel)) {
        return true;
      }
    }
    return false;
  }

  /** Waits until it is so, or will not be because it is refused. */
  static void await(String what, List<RedisServer> servers, Callable<Boolean> condition)
      throws Exception {
    Eventually.holds(what, () -> condition.call() || !RedisRights.refusals(servers).isEmpty());
  }
}
