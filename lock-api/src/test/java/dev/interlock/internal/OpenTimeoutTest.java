package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A client that is opened before its store is available. */
class OpenTimeoutTest {
  private final LockUnavailableException down =
      new LockUnavailableException("memory", "nowhere", "it is down", null);
  private static final LockOptions LONG_TIMEOUT =
      LockOptions.builder().openTimeout(Duration.ofMinutes(5)).build();

  private final AtomicInteger attempts = new AtomicInteger();

  private BackendFactory failing(int times, LockException failure) {
    return context -> {
      if (attempts.incrementAndGet() <= times) {
        throw failure;
      }
      return new MemoryProvider().open(LockUri.parse("memory:opening"), context);
    };
  }

  @Test
  void openingIsTriedAgainUntilTheStoreIsThere() {
    try (LockClient client = LockClient.using(failing(3, down), LONG_TIMEOUT)) {
      assertFalse(client.admin().inspect("a").isHeld());
      assertThrows(
          IllegalArgumentException.class,
          () -> client.lock("a", options -> options.openTimeout(null)));
    }
    assertEquals(4, attempts.get());
  }

  @Test
  void openingFailsAfterItsTimeout() {
    LockOptions options = LockOptions.builder().openTimeout(Duration.ofMillis(200)).build();
    assertSame(
        down,
        assertThrows(
            LockUnavailableException.class,
            () -> LockClient.using(failing(Integer.MAX_VALUE, down), options)));
    assertTrue(attempts.get() > 1, "a single attempt");
  }

  @Test
  void thereIsASingleAttemptUnlessTheOptionsSayMore() {
    assertThrows(
        LockUnavailableException.class,
        () -> LockClient.using(failing(1, down), LockOptions.defaults()));
    assertEquals(1, attempts.get());
  }

  @Test
  void aWrongConfigurationIsNotRetried() {
    LockException wrong = new LockConfigurationException("wrong password");
    assertThrows(
        LockConfigurationException.class, () -> LockClient.using(failing(1, wrong), LONG_TIMEOUT));
    assertEquals(1, attempts.get());
  }

  @Test
  void anInterruptEndsTheTryingAndIsKept() {
    Thread.currentThread().interrupt();
    assertThrows(
        LockUnavailableException.class,
        () -> LockClient.using(failing(Integer.MAX_VALUE, down), LONG_TIMEOUT));
    assertTrue(Thread.interrupted());
    assertEquals(1, attempts.get());
  }
}
