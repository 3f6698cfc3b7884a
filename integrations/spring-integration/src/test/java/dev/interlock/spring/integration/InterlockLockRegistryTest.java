package dev.interlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseInfo;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.testbed.Eventually;
import dev.interlock.testing.ManualClock;
import dev.interlock.testing.TestStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.integration.support.locks.DistributedLock;

@SuppressWarnings("LockNotBeforeTry") // the tests are about the unlock
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class InterlockLockRegistryTest {
  private static final String KEY = "order";
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final TestStore store = new TestStore();
  private final LockClient client = store.open();
  private final LockClient other = store.open();
  private final InterlockLockRegistry registry = new InterlockLockRegistry(client, "si/");
  private final InterlockLockRegistry elsewhere = new InterlockLockRegistry(other, "si/");
  private final DistributedLock lock = registry.obtain(KEY);

  @AfterEach
  void close() {
    client.close();
    other.close();
    store.close();
  }

  /** Makes the call on a thread of its own, and waits for it. */
  private static <T> T onAnotherThread(Callable<T> call) throws Exception {
    return started(call).get(1, TimeUnit.MINUTES);
  }

  private static <T> FutureTask<T> started(Callable<T> call) {
    FutureTask<T> task = new FutureTask<>(call);
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  private boolean isFree() {
    return !other.admin().inspect("si/" + KEY).isHeld();
  }

  // --- acquiring ------------------------------------------------------------------------------

  @Test
  void eachWayToLockExcludesOthersUntilTheUnlock() throws Exception {
    List<Callable<Boolean>> ways =
        List.of(
            () -> {
              lock.lock();
              return true;
            },
            () -> {
              lock.lockInterruptibly();
              return true;
            },
            lock::tryLock,
            () -> lock.tryLock(1, TimeUnit.SECONDS),
            () -> {
              lock.lock(MINUTE);
              return true;
            },
            () -> lock.tryLock(Duration.ofSeconds(1), MINUTE));
    for (Callable<Boolean> way : ways) {
      assertTrue(way.call());
      assertFalse(elsewhere.obtain(KEY).tryLock());
      assertFalse(onAnotherThread(() -> lock.tryLock()));
      assertFalse(onAnotherThread(() -> lock.tryLock(Duration.ofMillis(10), MINUTE)));
      lock.unlock();
      assertTrue(elsewhere.obtain(KEY).tryLock());
      elsewhere.obtain(KEY).unlock();
    }
  }

  @Test
  void aLockIsReentrantInEveryWayAndThroughEveryObject() throws Exception {
    lock.lock();
    lock.lockInterruptibly();
    assertTrue(registry.obtain(KEY).tryLock());
    assertTrue(registry.obtain(KEY).tryLock(1, TimeUnit.SECONDS));
    assertTrue(registry.obtain(KEY).tryLock(Duration.ZERO, MINUTE));
    registry.obtain(KEY).lock(MINUTE);
    for (int i = 0; i < 5; i++) {
      lock.unlock();
      assertFalse(elsewhere.obtain(KEY).tryLock());
    }
    lock.unlock();
    assertTrue(isFree());
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
  }

  @Test
  void keysWithTheSameHashAreDifferentLocks() throws Exception {
    assertEquals("Aa".hashCode(), "BB".hashCode());
    registry.obtain("Aa").lock();
    assertTrue(registry.obtain("BB").tryLock());
    registry.obtain("Aa").unlock();
    assertFalse(onAnotherThread(() -> registry.obtain("BB").tryLock()));
    registry.obtain("BB").unlock();
  }

  @Test
  void onlyTheHolderUnlocks() throws Exception {
    lock.lock();
    assertThrows(IllegalMonitorStateException.class, elsewhere.obtain(KEY)::unlock);
    onAnotherThread(() -> assertThrows(IllegalMonitorStateException.class, lock::unlock));
    assertFalse(isFree());
    lock.unlock();
  }

  @Test
  void aReleaseWakesAWaiterOfTheSameAndOfAnotherRegistry() throws Exception {
    for (InterlockLockRegistry waiting : List.of(registry, elsewhere)) {
      lock.lock();
      FutureTask<Boolean> waiter =
          started(
              () -> {
                Lock theirs = waiting.obtain(KEY);
                boolean acquired = theirs.tryLock(1, TimeUnit.MINUTES);
                theirs.unlock();
                return acquired;
              });
      assertThrows(TimeoutException.class, () -> waiter.get(50, TimeUnit.MILLISECONDS));
      lock.unlock();
      assertTrue(waiter.get(1, TimeUnit.MINUTES));
    }
  }

  @Test
  void lockIgnoresAnInterruptAndKeepsTheStatus() throws Exception {
    lock.lock();
    CompletableFuture<Thread> waiting = new CompletableFuture<>();
    FutureTask<Boolean> waiter =
        started(
            () -> {
              waiting.complete(Thread.currentThread());
              registry.obtain(KEY).lock();
              registry.obtain(KEY).unlock();
              return Thread.interrupted();
            });
    waiting.get(1, TimeUnit.MINUTES).interrupt();
    assertThrows(TimeoutException.class, () -> waiter.get(50, TimeUnit.MILLISECONDS));
    lock.unlock();
    assertTrue(waiter.get(1, TimeUnit.MINUTES));
  }

  @Test
  void anInterruptEndsAnInterruptibleWait() throws Exception {
    lock.lock();
    CompletableFuture<Thread> waiting = new CompletableFuture<>();
    FutureTask<InterruptedException> waiter =
        started(
            () -> {
              waiting.complete(Thread.currentThread());
              return assertThrows(
                  InterruptedException.class, () -> registry.obtain(KEY).lockInterruptibly());
            });
    waiting.get(1, TimeUnit.MINUTES).interrupt();
    waiter.get(1, TimeUnit.MINUTES);
    lock.unlock();
    assertTrue(isFree());
  }

  @Test
  void anEarlierInterruptEndsTheCallEvenIfTheThreadHoldsTheLock() {
    lock.lock();
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, lock::lockInterruptibly);
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> lock.tryLock(1, TimeUnit.SECONDS));
    lock.unlock();
  }

  @Test
  void aStoreThatIsDownCausesAnExceptionOfSpring() {
    store.goDown();
    CannotAcquireLockException failure =
        assertThrows(CannotAcquireLockException.class, lock::tryLock);
    assertTrue(failure.getMessage().contains("si/order"), failure.getMessage());
    assertThrows(CannotAcquireLockException.class, () -> lock.tryLock(1, TimeUnit.MILLISECONDS));
    store.recover();
    assertTrue(lock.tryLock());
  }

  @Test
  void theWaitTimeoutOfTheClientEndsLock() {
    LockOptions limited = LockOptions.builder().waitTimeout(Duration.ofMillis(10)).build();
    lock.lock();
    try (LockClient impatient = store.open(limited)) {
      Lock theirs = new InterlockLockRegistry(impatient, "si/").obtain(KEY);
      assertThrows(CannotAcquireLockException.class, theirs::lock);
    }
  }

  @Test
  void executeLockedRunsUnderTheLock() throws Exception {
    String result =
        registry.executeLocked(
            KEY,
            () -> {
              assertFalse(elsewhere.obtain(KEY).tryLock());
              assertThrows(
                  TimeoutException.class,
                  () -> elsewhere.executeLocked(KEY, Duration.ofMillis(10), () -> {}));
              return "done";
            });
    assertEquals("done", result);
    assertTrue(isFree());
  }

  // --- TTL and renewal ------------------------------------------------------------------------

  private static Duration remainingValidity(LockClient holder) {
    List<LeaseInfo> leases = holder.leases();
    assertEquals(1, leases.size());
    return leases.get(0).remainingValidity();
  }

  @Test
  void aTtlOfItsOwnReplacesThatOfTheClient() throws Exception {
    lock.lock(Duration.ofHours(1));
    assertTrue(remainingValidity(client).compareTo(Duration.ofMinutes(50)) > 0);
    lock.unlock();
    assertTrue(lock.tryLock(Duration.ZERO, Duration.ofHours(1)));
    assertTrue(remainingValidity(client).compareTo(Duration.ofMinutes(50)) > 0);
    lock.unlock();
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> lock.lock(Duration.ZERO));
    assertTrue(refused.getMessage().contains("1 ms"), refused.getMessage());
  }

  @Test
  void aLockIsRenewedUnlessTheClientHasRenewalOff() throws Exception {
    LockOptions unrenewed = LockOptions.builder().autoRenew(false).ttl(MINUTE).build();
    Duration half = MINUTE.dividedBy(2);
    ManualClock clock = new ManualClock();
    try (TestStore timed = new TestStore(clock);
        LockClient plain = timed.open(unrenewed);
        LockClient renewing = timed.open()) {
      Lock ends = new InterlockLockRegistry(plain, "si/").obtain("ends");
      ends.lock();
      DistributedLock stays = new InterlockLockRegistry(renewing, "si/").obtain(KEY);
      stays.lock(MINUTE);
      for (int i = 0; i < 3; i++) {
        clock.advance(half);
        Eventually.holds(
            "the lock is renewed", () -> remainingValidity(renewing).compareTo(half) > 0);
      }
      assertThrows(ConcurrentModificationException.class, ends::unlock);
      stays.unlock();
    }
  }

  @Test
  void renewLockRenews() throws Exception {
    LockOptions unrenewed = LockOptions.builder().autoRenew(false).ttl(MINUTE).build();
    ManualClock clock = new ManualClock();
    try (TestStore timed = new TestStore(clock);
        LockClient plain = timed.open(unrenewed)) {
      InterlockLockRegistry renewing = new InterlockLockRegistry(plain, "si/");
      renewing.obtain(KEY).lock();
      Duration before = remainingValidity(plain);
      clock.advance(Duration.ofSeconds(20));
      assertEquals(before.minusSeconds(20), remainingValidity(plain));
      renewing.renewLock(KEY);
      assertEquals(before, remainingValidity(plain));
      renewing.renewLock(KEY, Duration.ofSeconds(30));
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class, () -> renewing.renewLock(KEY, Duration.ofMinutes(2)));
      assertTrue(refused.getMessage().contains("tryLock(waitTime, ttl)"), refused.getMessage());
      renewing.obtain(KEY).unlock();
    }
    lock.lock();
    registry.renewLock(KEY, Duration.ofHours(1)); // it is renewed for as long as it is held
    lock.unlock();
  }

  @Test
  void renewLockSaysWhyItFails() throws Exception {
    assertThrows(IllegalMonitorStateException.class, () -> registry.renewLock(KEY));
    lock.lock();
    onAnotherThread(
        () -> assertThrows(IllegalMonitorStateException.class, () -> registry.renewLock(KEY)));
    store.goDown();
    assertThrows(DataAccessResourceFailureException.class, () -> registry.renewLock(KEY));
    store.recover();
    store.takeAway("si/" + KEY);
    IllegalStateException lost =
        assertThrows(IllegalStateException.class, () -> registry.renewLock(KEY));
    assertInstanceOf(LeaseLostException.class, lost.getCause());
  }

  // --- loss -----------------------------------------------------------------------------------

  private void loseLock() throws Exception {
    Lease lease = registry.lease(KEY).orElseThrow();
    store.takeAway("si/" + KEY);
    assertThrows(LeaseLostException.class, lease::renew);
  }

  @Test
  void everyUnlockReportsALossAndEndsItsHold() throws Exception {
    lock.lock();
    lock.lock();
    loseLock();
    ConcurrentModificationException nested =
        assertThrows(ConcurrentModificationException.class, lock::unlock);
    assertInstanceOf(LeaseLostException.class, nested.getCause());
    assertThrows(ConcurrentModificationException.class, lock::unlock);
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    assertTrue(lock.tryLock());
    lock.unlock();
  }

  @Test
  void anUnlockDetectsALossThatWasNotReported() {
    lock.lock();
    store.takeAway("si/" + KEY);
    Lock theirs = elsewhere.obtain(KEY);
    assertTrue(theirs.tryLock());
    assertThrows(ConcurrentModificationException.class, lock::unlock);
    assertFalse(lock.tryLock(), "their lock is still held");
    theirs.unlock();
  }

  @Test
  void aNestedLockAfterALossFailsAndAddsNoHold() throws Exception {
    lock.lock();
    loseLock();
    assertThrows(CannotAcquireLockException.class, lock::lock);
    assertThrows(CannotAcquireLockException.class, lock::tryLock);
    assertThrows(CannotAcquireLockException.class, () -> lock.tryLock(1, TimeUnit.SECONDS));
    assertThrows(ConcurrentModificationException.class, lock::unlock);
    lock.lock();
    lock.unlock();
  }

  @Test
  void aLostLockKeepsNoOtherThreadOfTheProcessOut() throws Exception {
    lock.lock();
    loseLock();
    assertTrue(
        onAnotherThread(
            () -> {
              boolean acquired = lock.tryLock();
              lock.unlock();
              return acquired;
            }));
    assertThrows(ConcurrentModificationException.class, lock::unlock);
  }

  @Test
  void anUnlockDoesNotFailIfTheStoreDoesNotAnswer() throws Exception {
    lock.lock();
    store.goDown();
    lock.unlock();
    store.recover();
    Eventually.holds("free", this::isFree);
  }

  @Test
  void closingTheClientEndsItsLocks() {
    lock.lock();
    client.close();
    assertThrows(ConcurrentModificationException.class, lock::unlock);
    assertThrows(IllegalStateException.class, lock::tryLock);
    assertThrows(IllegalStateException.class, () -> registry.obtain(KEY));
    assertTrue(elsewhere.obtain(KEY).tryLock());
  }

  @Test
  void theLockOfAThreadThatHasEndedIsNoLongerRenewed() throws Exception {
    LockOptions brief = LockOptions.builder().ttl(Duration.ofSeconds(5)).build();
    try (LockClient forgetful = store.open(brief)) {
      InterlockLockRegistry forgotten = new InterlockLockRegistry(forgetful, "si/");
      onAnotherThread(() -> forgotten.obtain(KEY).tryLock());
      assertFalse(lock.tryLock());
      Eventually.holds(
          "free",
          () -> {
            System.gc();
            return isFree();
          });
    }
  }

  // --- keys and leases ------------------------------------------------------------------------

  @Test
  void aKeyMustBeAStringThatCanBeAName() {
    IllegalArgumentException number =
        assertThrows(IllegalArgumentException.class, () -> registry.obtain(42));
    assertTrue(number.getMessage().contains("String, not java.lang.Integer"), number.getMessage());
    assertThrows(IllegalArgumentException.class, () -> registry.obtain("x".repeat(300) + '\ud800'));
  }

  @Test
  void longKeysAreDifferentLocks() throws Exception {
    List<String> keys = new ArrayList<>();
    for (String character : new String[] {"x", "\ud83d\udd12"}) {
      for (int length : new int[] {190, 191, 192, 254, 255, 256, 1000}) {
        keys.add(character.repeat(length));
      }
      keys.add(character.repeat(999) + "y");
    }
    for (String key : keys) {
      registry.obtain(key).lock();
    }
    // The name of a long key is a key, too.
    keys.add(registry.lease("x".repeat(1000)).orElseThrow().name().substring(3));
    registry.obtain(keys.get(keys.size() - 1)).lock();
    assertEquals(
        keys.size(),
        keys.stream().map(key -> registry.lease(key).orElseThrow()).distinct().count());
    for (String key : keys) {
      assertFalse(onAnotherThread(() -> elsewhere.obtain(key).tryLock()));
      registry.obtain(key).unlock();
      assertTrue(registry.lease(key).isEmpty());
    }
  }

  @Test
  void equalKeysHaveEqualLocks() {
    assertEquals(lock, registry.obtain(KEY));
    assertEquals(lock.hashCode(), registry.obtain(KEY).hashCode());
    assertNotEquals(lock, registry.obtain("another"));
    assertNotEquals(lock, elsewhere.obtain(KEY));
  }

  @Test
  void theHolderSeesItsLease() throws Exception {
    assertTrue(registry.lease(KEY).isEmpty());
    lock.lock();
    long first = registry.lease(KEY).orElseThrow().fencingToken();
    assertTrue(onAnotherThread(() -> registry.lease(KEY).isEmpty()));
    assertTrue(elsewhere.lease(KEY).isEmpty());
    lock.unlock();
    assertTrue(registry.lease(KEY).isEmpty());
    lock.lock();
    assertTrue(registry.lease(KEY).orElseThrow().fencingToken() > first);
    lock.unlock();
  }

  @Test
  void unusedKeysLeaveNothingAndHeldOnesAreNeverExpired() {
    lock.lock();
    for (int i = 0; i < 10_000; i++) {
      Lock one = registry.obtain("key-" + i);
      assertTrue(one.tryLock());
      one.unlock();
    }
    registry.expireUnusedOlderThan(0);
    assertEquals(1, client.leases().size());
    lock.lock();
    lock.unlock();
    lock.unlock();
    assertEquals(List.of(), client.leases());
    assertTrue(isFree());
  }

  @Test
  void thereAreNoConditions() {
    assertThrows(UnsupportedOperationException.class, lock::newCondition);
  }
}
