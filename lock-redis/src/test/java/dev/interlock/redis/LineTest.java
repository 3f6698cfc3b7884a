package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Share;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the places of waiters in the queue, as the server stores them. */
class LineTest {

  private static final String LINE = "interlock:{job}:line";
  private static final Duration LONG_TTL = Duration.ofHours(1);

  @AutoClose
  private static final RedisServer redis =
      Testbed.firstAvailable(Testbed.redis().clockAhead(Duration.ZERO), Testbed.redis());

  @AutoClose private LockBackend holder;
  @AutoClose private LockBackend first;
  @AutoClose private LockBackend second;
  private Duration clock = Duration.ZERO;

  @BeforeEach
  void open() throws IOException {
    if (redis.canSetClock()) {
      redis.setClock(Duration.ZERO);
    }
    redis.call("FLUSHALL");
    holder = Backends.open(redis.uri());
    first = Backends.open(redis.uri());
    second = Backends.open(redis.uri());
  }

  private void letPass(Duration time) {
    assumeTrue(redis.canSetClock() || Testbed.requiresAll(), "a wrong clock needs a C compiler");
    clock = clock.plus(time);
    redis.setClock(clock);
  }

  /** The kinds of locks that clients wait for. */
  @SuppressWarnings("ImmutableEnumChecker") // shares do not change
  enum Kind {
    LOCK(Share.EXCLUSIVE),
    WRITER(Share.WRITE),
    PERMIT(Share.ofSemaphore(1, 1));

    final Share share;

    Kind(Share share) {
      this.share = share;
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoMissesAReservationGetsALongerOneNext(Kind kind) throws Exception {
    for (int millis : new int[] {300, 600, 900, 900}) {
      passOn(kind);
      assertTrue(place(0).endsWith(":0:" + millis), place(0));
      letPass(Duration.ofSeconds(1));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aReservationSoonEndsAlthoughTheClockIsSetBack(Kind kind) throws Exception {
    passOn(kind);
    letPass(LONG_TTL.negated());
    Deadline soon = soon();
    while (second.tryAcquire(claim("job", kind.share), soon) instanceof Attempt.Busy) {
      assertFalse(soon.hasPassed(), "the lock stays reserved");
    }
  }

  /** Holds the lock, lets the first waiter ask for it, and releases it. */
  private void passOn(Kind kind) throws Exception {
    Claim held = claim("job", kind.share);
    take(holder, held);
    assertBusy(first, kind, LONG_TTL);
    assertTrue(holder.release(held, soon()));
    assertTrue((Long) redis.call("PTTL", LINE) > 0, "the line would stay forever");
  }

  private void assertBusy(LockBackend waiter, Kind kind, Duration reservation) throws Exception {
    Claim claim = claim("job", kind.share, Backends.TTL, reservation);
    assertInstanceOf(Attempt.Busy.class, waiter.tryAcquire(claim, soon()));
  }

  private static String place(int index) throws IOException {
    return ((List<?>) redis.call("HVALS", LINE)).get(index).toString();
  }

  @ParameterizedTest
  @EnumSource
  void aPlaceThatIsOverCountsForNothing(Kind kind) throws Exception {
    Claim held = claim("job", kind.share, Duration.ofHours(1), Duration.ZERO);
    take(holder, held);
    assertBusy(first, kind, Duration.ofSeconds(5));
    String id = ((List<?>) redis.call("HKEYS", LINE)).get(0).toString();
    letPass(Duration.ofSeconds(1));
    assertBusy(second, kind, LONG_TTL);
    letPass(Duration.ofSeconds(9));
    assertBusy(first, kind, LONG_TTL);
    assertTrue(holder.release(held, soon()));
    String place = redis.call("HGET", LINE, id).toString();
    assertTrue(
        place.matches(".*:[1-9]\\d*:300"),
        () -> "it came last, but the lock is reserved for it: " + place);
  }

  @Test
  void placesThatAreOverLeaveRoomForOthers() throws Exception {
    take(holder, claim("job"));
    List<String> full = new ArrayList<>(List.of("HSET", LINE));
    for (int i = 0; i < 128; i++) {
      full.addAll(List.of("gone" + i, "1:2:1:300"));
    }
    redis.call(full.toArray(String[]::new));
    assertBusy(first, Kind.LOCK, LONG_TTL);
    assertEquals(1L, redis.call("HLEN", LINE));
  }
}
