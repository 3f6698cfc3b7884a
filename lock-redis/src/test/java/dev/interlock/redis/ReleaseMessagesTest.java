package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A release is published if a client listens for it, and only then. */
class ReleaseMessagesTest {

  private static final String LOCK = "interlock:{job}";
  private static final Pattern CALLS = Pattern.compile("cmdstat_publish:calls=(\\d+)");

  @AutoClose private static final RedisServer redis = Testbed.redis().start();
  private LockBackend holder;
  private LockBackend waiter;

  /** The ways in which a held lock becomes free at once. */
  private enum Ending {
    RELEASE {
      @Override
      void end(LockBackend holder, Grant grant) throws Exception {
        assertTrue(holder.release(grant.claim(), soon()));
      }
    },
    RELEASE_OF_A_RENEWED_ONE {
      @Override
      void end(LockBackend holder, Grant grant) throws Exception {
        assertInstanceOf(Renewal.Confirmed.class, holder.renew(grant, soon()));
        assertTrue(holder.release(grant.claim(), soon()));
      }
    },
    RELEASE_OF_A_REVOKED_ONE {
      @Override
      void end(LockBackend holder, Grant grant) throws Exception {
        assertTrue(holder.revoke("job", soon()));
        assertInstanceOf(Renewal.Lost.class, holder.renew(grant, soon()));
        assertTrue(holder.release(grant.claim(), soon()));
      }
    },
    FORCED_RELEASE {
      @Override
      void end(LockBackend holder, Grant grant) throws Exception {
        assertTrue(holder.forceRelease("job", soon()));
      }
    };

    abstract void end(LockBackend holder, Grant grant) throws Exception;
  }

  @BeforeEach
  void open() throws IOException {
    redis.call("FLUSHALL");
    redis.call("CONFIG", "RESETSTAT");
    holder = Backends.open(redis.uri());
    waiter = Backends.open(redis.uri());
  }

  @AfterEach
  void close() {
    holder.close();
    waiter.close();
  }

  @Test
  void nothingIsPublishedWithoutAListener() throws Exception {
    for (int i = 0; i < 100; i++) {
      for (Ending ending : Ending.values()) {
        Grant grant = take(holder, claim("job"));
        assertTrue(isBusy(waiter, "job"), "a client that does not wait");
        ending.end(holder, grant);
      }
    }
    assertEquals(0, published());
  }

  @Test
  void waitersThatHaveTriedSinceTheyListenAreTold() throws Exception {
    WakeUp news = new WakeUp(Backends.TIME);
    try (Watch watch = waiter.watch("job", news)) {
      assertTrue(signalled(news), "in place");
      for (Ending ending : Ending.values()) {
        Grant grant = take(holder, claim("job"));
        assertTrue(isBusy(waiter, "job"));
        assertTrue(isBusy(waiter, "job"));
        long before = published();
        ending.end(holder, grant);
        assertTrue(signalled(news), ending::name);
        assertEquals(before + 1, published(), ending::name);
      }
    }
  }

  @Test
  void theNextLeaseIsNotAwaitedUntilTheNextAttempt() throws Exception {
    WakeUp news = new WakeUp(Backends.TIME);
    try (Watch watch = waiter.watch("job", news)) {
      assertTrue(signalled(news), "in place");
      Claim first = claim("job");
      take(holder, first);
      assertTrue(isBusy(waiter, "job"));
      holder.release(first, soon());
      assertTrue(signalled(news));
      Claim second = claim("job");
      take(holder, second);
      holder.release(second, soon());
      assertEquals(1, published());
    }
  }

  /** The mark that a waiter leaves on the lock makes no difference to its holder or to others. */
  @Test
  void aListeningWaiterChangesNothingElseAboutTheLock() throws Exception {
    Grant grant = take(holder, claim("job"));
    redis.call("PEXPIRE", LOCK, "20000");
    WakeUp news = new WakeUp(Backends.TIME);
    try (Watch watch = waiter.watch("job", news)) {
      assertTrue(signalled(news), "in place");
      assertTrue(isBusy(waiter, "job"));
      long remaining = (Long) redis.call("PTTL", LOCK);
      assertTrue(
          remaining > 10_000 && remaining <= 20_000, () -> "expires in " + remaining + " ms");
      assertEquals(
          "host/1/test",
          holder.inspect("job", soon()).holder().flatMap(first -> first.label()).orElseThrow());

      assertFalse(holder.release(claim("job"), soon()), "another claim");
      assertInstanceOf(Renewal.Confirmed.class, holder.renew(grant, soon()));
      long token = take(holder, grant.claim()).token();
      assertTrue(token > grant.token(), "the same request, sent again");
      assertTrue(holder.revoke("job", soon()));
      assertEquals(
          "host/1/test (revoked)",
          holder.inspect("job", soon()).holder().flatMap(first -> first.label()).orElseThrow());
      assertTrue(isBusy(waiter, "job"));
      assertTrue(holder.release(grant.claim(), soon()));
      assertEquals(List.of(LOCK + ":fence"), List.copyOf(redis.keys().keySet()));
    }
  }

  private static boolean signalled(WakeUp news) throws InterruptedException {
    return news.await(Deadline.in(Backends.TIME, Eventually.LIMIT));
  }

  private static long published() throws IOException {
    Matcher calls = CALLS.matcher((String) redis.call("INFO", "commandstats"));
    return calls.find() ? Long.parseLong(calls.group(1)) : 0;
  }
}
