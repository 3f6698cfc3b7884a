package dev.interlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaseInfo;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testing.TestStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class InterlockLockProviderTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final TestStore store = new TestStore();
  private final LockClient client = store.open();
  private final LockClient other = store.open();
  private final InterlockLockProvider provider = new InterlockLockProvider(client, "jobs/");
  private final InterlockLockProvider elsewhere = new InterlockLockProvider(other, "jobs/");

  @AfterEach
  void close() {
    client.close();
    other.close();
    store.close();
  }

  private static LockConfiguration times(Duration atMost, Duration atLeast) {
    return new LockConfiguration(ClockProvider.now(), "report", atMost, atLeast);
  }

  private static LockConfiguration aMinute() {
    return times(MINUTE, Duration.ZERO);
  }

  @Test
  void aLockHasThePrefixAndTheTtlAndIsNotRenewed() {
    var unused = provider.lock(aMinute()).orElseThrow();
    List<LeaseInfo> leases = client.leases();
    assertEquals(List.of("jobs/report"), leases.stream().map(LeaseInfo::name).toList());
    Duration validity = leases.get(0).remainingValidity();
    assertTrue(validity.compareTo(Duration.ofSeconds(30)) > 0, validity::toString);
    assertTrue(validity.compareTo(MINUTE.plusSeconds(2)) <= 0, validity::toString);
    assertTrue(elsewhere.lock(aMinute()).isEmpty());
  }

  @Test
  void theOptionsOfTheClientDoNotChangeTheTimes() {
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.ofSeconds(1))
            .minHold(Duration.ofMillis(900))
            .maxHold(Duration.ofSeconds(1))
            .build();
    try (LockClient changed = store.open(options)) {
      SimpleLock lock = new InterlockLockProvider(changed, "jobs/").lock(aMinute()).orElseThrow();
      Duration validity = changed.leases().get(0).remainingValidity();
      assertTrue(validity.compareTo(Duration.ofSeconds(30)) > 0, validity::toString);
      lock.unlock();
      assertTrue(elsewhere.lock(aMinute()).isPresent());
    }
  }

  @Test
  void timesThatCannotWorkAreRefusedBeforeTheStoreIsAsked() {
    store.goDown();
    IllegalArgumentException none =
        assertThrows(
            IllegalArgumentException.class,
            () -> provider.lock(times(Duration.ZERO, Duration.ZERO)));
    assertTrue(none.getMessage().contains("lockAtMostFor"), none.getMessage());
    IllegalArgumentException tooLong =
        assertThrows(
            IllegalArgumentException.class,
            () -> provider.lock(times(Duration.ofDays(366), Duration.ZERO)));
    assertTrue(tooLong.getMessage().contains("365 days"), tooLong.getMessage());
  }

  @Test
  void aStoreThatIsDownIsAFailureNotARefusal() {
    store.goDown();
    assertThrows(LockUnavailableException.class, () -> provider.lock(aMinute()));
    store.recover();
    assertTrue(provider.lock(aMinute()).isPresent());
  }

  @Test
  void anUnlockThatTheStoreDoesNotAnswerIsRepeated() throws Exception {
    SimpleLock lock = provider.lock(aMinute()).orElseThrow();
    store.goDown();
    lock.unlock();
    store.recover();
    Eventually.holds("free again", () -> elsewhere.lock(aMinute()).isPresent());
  }

  @Test
  void anUnlockAfterALossDoesNotThrow() {
    SimpleLock lock = provider.lock(aMinute()).orElseThrow();
    store.takeAway("jobs/report");
    SimpleLock theirs = elsewhere.lock(aMinute()).orElseThrow();
    lock.unlock();
    assertTrue(provider.lock(aMinute()).isEmpty(), "their lock is still held");
    assertThrows(IllegalStateException.class, lock::unlock);
    theirs.unlock();
  }

  @Test
  void aLockThatWasTakenAwayCannotBeExtended() {
    SimpleLock lock = provider.lock(aMinute()).orElseThrow();
    store.takeAway("jobs/report");
    assertTrue(lock.extend(MINUTE, Duration.ZERO).isEmpty());
    assertTrue(elsewhere.lock(aMinute()).isPresent());
  }

  @Test
  void anExtensionThatFailsLeavesTheLockAsItWas() {
    SimpleLock lock = provider.lock(aMinute()).orElseThrow();
    store.goDown();
    assertThrows(LockUnavailableException.class, () -> lock.extend(MINUTE, Duration.ZERO));
    store.recover();
    SimpleLock extended = lock.extend(MINUTE, Duration.ZERO).orElseThrow();
    extended.unlock();
    assertTrue(elsewhere.lock(aMinute()).isPresent());
  }

  @Test
  void anExtensionBeyondTheFirstTtlIsKeptUntilItsOwnEnd() throws Exception {
    LinkedBlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    client.onEvent(events::add);
    SimpleLock lock = provider.lock(times(Duration.ofSeconds(1), Duration.ZERO)).orElseThrow();
    var unused = lock.extend(Duration.ofSeconds(4), Duration.ZERO).orElseThrow();
    long renewals = 0;
    Optional<Duration> heldFor = Optional.empty();
    while (heldFor.isEmpty()) {
      LockEvent event = events.poll(1, TimeUnit.MINUTES);
      if (event instanceof LockEvent.Renewed) {
        renewals++;
      } else if (event instanceof LockEvent.Released released) {
        heldFor = Optional.of(released.heldFor());
      } else {
        assertFalse(event instanceof LockEvent.Lost, () -> "lost: " + event);
      }
    }
    assertTrue(renewals > 2, "renewals: " + renewals);
    assertTrue(heldFor.get().compareTo(Duration.ofSeconds(4)) >= 0, heldFor.get()::toString);
    assertTrue(elsewhere.lock(aMinute()).isPresent());
  }

  @Test
  void aShorterExtensionEndsEarlier() throws Exception {
    SimpleLock lock = provider.lock(aMinute()).orElseThrow();
    long since = System.nanoTime();
    var unused = lock.extend(Duration.ofMillis(200), Duration.ZERO).orElseThrow();
    Eventually.holds("free again", () -> elsewhere.lock(aMinute()).isPresent());
    assertTrue(System.nanoTime() - since < MINUTE.toNanos());
  }

  @Test
  void aLockThatWasAbandonedStaysUntilItsEnd() throws Exception {
    long since = System.nanoTime();
    assertTrue(provider.lock(times(Duration.ofSeconds(2), Duration.ZERO)).isPresent());
    while (elsewhere.lock(aMinute()).isEmpty()) {
      System.gc();
      Thread.sleep(50);
    }
    Duration kept = Duration.ofNanos(System.nanoTime() - since);
    assertTrue(kept.compareTo(Duration.ofMillis(1900)) > 0, kept::toString);
  }

  @Test
  void aTaskThatTakesTooLongLosesItsLock() throws Exception {
    SimpleLock lock = provider.lock(times(Duration.ofMillis(100), Duration.ZERO)).orElseThrow();
    Eventually.holds("free", () -> elsewhere.lock(aMinute()).isPresent());
    assertTrue(lock.extend(MINUTE, Duration.ZERO).isEmpty());
  }

  @Test
  void aMinimumAsLongAsTheMaximumIsKeptWithoutALoss() throws Exception {
    LinkedBlockingQueue<LockEvent> ends = new LinkedBlockingQueue<>();
    client.onEvent(
        event -> {
          if (event instanceof LockEvent.Released || event instanceof LockEvent.Lost) {
            ends.add(event);
          }
        });
    Duration both = Duration.ofSeconds(3);
    provider.lock(times(both, both)).orElseThrow().unlock();
    assertTrue(elsewhere.lock(aMinute()).isEmpty());
    Eventually.holds("free", () -> elsewhere.lock(aMinute()).isPresent());
    client.close();
    assertEquals(1, ends.size(), ends::toString);
    assertTrue(ends.peek() instanceof LockEvent.Released, ends::toString);
  }

  /** Simulates a killed process: none of its later requests reach the store. */
  @Test
  void theStoreKeepsTheMinimumAfterTheProcessIsKilled() throws Exception {
    long since = System.nanoTime();
    provider.lock(times(MINUTE, Duration.ofSeconds(2))).orElseThrow().unlock();
    store.goDown();
    assertKeptForTwoSecondsSince(since);
  }

  @Test
  void theStoreKeepsTheMinimumWhenTheClientIsClosed() throws Exception {
    long since = System.nanoTime();
    provider.lock(times(MINUTE, Duration.ofSeconds(2))).orElseThrow().unlock();
    client.close();
    assertKeptForTwoSecondsSince(since);
  }

  @Test
  void theStoreKeepsTheMinimumOfAnExtension() throws Exception {
    SimpleLock lock = provider.lock(times(MINUTE, MINUTE)).orElseThrow();
    long since = System.nanoTime();
    lock.extend(MINUTE.multipliedBy(5), Duration.ofSeconds(2)).orElseThrow().unlock();
    store.goDown();
    assertKeptForTwoSecondsSince(since);
  }

  private void assertKeptForTwoSecondsSince(long since) throws Exception {
    Eventually.holds("free", () -> !store.inspect("jobs/report").isHeld());
    Duration kept = Duration.ofNanos(System.nanoTime() - since);
    assertTrue(kept.compareTo(Duration.ofSeconds(2)) >= 0, kept::toString);
    assertTrue(kept.compareTo(MINUTE) < 0, kept::toString);
  }

  @Test
  void aMinimumThatTheStoreDoesNotConfirmIsKeptByTheClient() throws Exception {
    long since = System.nanoTime();
    SimpleLock lock = provider.lock(times(MINUTE, Duration.ofSeconds(2))).orElseThrow();
    store.goDown();
    lock.unlock();
    store.recover();
    assertKeptForTwoSecondsSince(since);
  }

  @Test
  void theTaskExecutorRunsATaskInOnePlaceAndExtendsItsLock() throws Throwable {
    LockingTaskExecutor here = new DefaultLockingTaskExecutor(provider);
    LockingTaskExecutor there = new DefaultLockingTaskExecutor(elsewhere);
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    CompletableFuture<Void> first =
        CompletableFuture.runAsync(
            () ->
                here.executeWithLock(
                    (Runnable)
                        () -> {
                          LockExtender.extendActiveLock(MINUTE.multipliedBy(2), Duration.ZERO);
                          running.countDown();
                          await(end);
                        },
                    aMinute()));
    await(running);
    assertFalse(there.executeWithLock(() -> "ran", aMinute()).wasExecuted());
    end.countDown();
    first.get(1, TimeUnit.MINUTES);
    assertEquals("ran", there.executeWithLock(() -> "ran", aMinute()).getResult());
  }

  @Test
  void aTaskThatLosesItsLockEndsWithItsOwnResult() throws Throwable {
    LockingTaskExecutor executor = new DefaultLockingTaskExecutor(provider);
    String result =
        executor
            .executeWithLock(
                () -> {
                  store.takeAway("jobs/report");
                  return "done";
                },
                aMinute())
            .getResult();
    assertEquals("done", result);
  }

  @Test
  void keepAliveExtends() {
    ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
    try {
      SimpleLock lock = new KeepAliveLockProvider(provider, executor).lock(aMinute()).orElseThrow();
      assertTrue(elsewhere.lock(aMinute()).isEmpty());
      lock.unlock();
      assertTrue(elsewhere.lock(aMinute()).isPresent());
    } finally {
      executor.shutdownNow();
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(1, TimeUnit.MINUTES));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
