package dev.interlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import net.javacrumbs.shedlock.test.support.FuzzTester;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * ShedLock's own tests of a provider. Another client inspects the store. The tests are those of
 * release 6.6.1, the last published ones, and run with the current release.
 */
abstract class ShedLockTests extends AbstractExtensibleLockProviderIntegrationTest {
  /**
   * The number of times that each of eight threads acquires a lock, for which it polls without a
   * pause. ShedLock's own number is 100; fewer use less CPU.
   */
  private static final int ITERATIONS = 10;

  /** ShedLock's tests expect answers, however busy the machine is. */
  private static final LockOptions LONG_TIMEOUT =
      LockOptions.builder().requestTimeout(Duration.ofSeconds(15)).build();

  private LockClient client;
  private LockClient observer;

  abstract String uri();

  @BeforeEach
  void open() {
    client = LockClient.open(uri(), LONG_TIMEOUT);
    observer = LockClient.open(uri(), LONG_TIMEOUT);
  }

  @AfterEach
  void close() {
    client.close();
    observer.close();
  }

  @Override
  protected ExtensibleLockProvider getLockProvider() {
    return new InterlockLockProvider(client);
  }

  @Override
  protected void assertUnlocked(String name) {
    assertFalse(observer.admin().inspect(name).isHeld(), name);
  }

  @Override
  protected void assertLocked(String name) {
    assertTrue(observer.admin().inspect(name).isHeld(), name);
  }

  @Override
  @Test
  public void fuzzTestShouldPass() throws ExecutionException, InterruptedException {
    new FuzzTester(getLockProvider(), Duration.ofMillis(1), Duration.ofMinutes(5), ITERATIONS)
        .doFuzzTest();
  }

  /** Waits for longer than ShedLock's 50 ms, for a busy machine. */
  @Override
  @Test
  public void shouldTimeout() throws InterruptedException {
    doTestTimeout(Duration.ofSeconds(1));
  }

  /** Waits for longer than ShedLock's 100 ms, for a busy machine. */
  @Override
  @Test
  public void shouldLockAtLeastFor() throws InterruptedException {
    doTestShouldLockAtLeastFor(1000);
  }
}
