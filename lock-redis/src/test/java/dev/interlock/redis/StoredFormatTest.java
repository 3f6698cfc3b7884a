package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Values of other versions are understood or refused, and never misread. */
class StoredFormatTest {

  private static final String LOCK = "interlock:{job}";
  private static final String FENCE = "interlock:{job}:fence";

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  @BeforeEach
  void clear() throws Exception {
    redis.call("FLUSHALL");
  }

  @Test
  void aLockOfVersion01IsUnderstood() throws Exception {
    redis.call("SET", LOCK, "0123456789abcdefghijklmnop_|app", "PX", "60000");
    redis.call("SET", FENCE, "4711", "PX", "60000");
    try (LockBackend backend = Backends.open(redis.uri())) {
      assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
      LockState state = backend.inspect("job", soon());
      assertEquals("app", state.holder().flatMap(LockState.Holder::label).orElseThrow());
      assertEquals(4711, state.fencingToken().orElseThrow());
      assertTrue(backend.forceRelease("job", soon()));
      assertTrue(take(backend, claim("job")).token() > 4711);
    }
  }

  @Test
  void aLockInANewerFormatIsBusyAndCannotBeTakenAway() throws Exception {
    redis.call("SET", LOCK, "v2|whatever|app", "PX", "60000");
    redis.call("SET", FENCE, "4711", "PX", "60000");
    try (LockBackend backend = Backends.open(redis.uri())) {
      Attempt.Busy busy =
          assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
      assertTrue(busy.retryAfter().compareTo(Duration.ofSeconds(30)) > 0);
      redis.call("SET", FENCE, "v2|4711", "PX", "60000");
      LockState state = backend.inspect("job", soon());
      assertEquals(
          "(format 2, written by a newer version of Interlock)",
          state.holder().flatMap(LockState.Holder::label).orElseThrow());
      assertTrue(state.fencingToken().isEmpty());
      assertEquals(List.of(state.name()), names(backend.list("", null, 100, soon())));
      assertFalse(backend.release(claim("job"), soon()));
      assertNewer("format 2", () -> backend.forceRelease("job", soon()));
      assertNewer("format 2", () -> backend.revoke("job", soon()));
      assertEquals("v2|whatever|app", redis.call("GET", LOCK));
    }
  }

  @Test
  void aFenceInANewerFormatIsRefused() throws Exception {
    redis.call("SET", FENCE, "v3|4711", "PX", "60000");
    try (LockBackend backend = Backends.open(redis.uri())) {
      assertNewer("format 3", () -> backend.tryAcquire(claim("job"), soon()));
      assertEquals(0L, redis.call("EXISTS", LOCK));
    }
  }

  private static List<String> names(LockPage page) {
    return page.locks().stream().map(LockState::name).toList();
  }

  private static void assertNewer(String format, Executable request) {
    String message = assertThrows(LockConfigurationException.class, request).getMessage();
    assertTrue(
        message.contains(format + ", which a newer version of Interlock has written"), message);
    assertFalse(message.contains("delete"), message);
  }
}
