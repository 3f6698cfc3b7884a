package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LeasedLock;
import dev.interlock.LockClient;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/** JUC: the view behaves as code written for {@link Lock} expects. */
// the tests are about unlock itself; a call in finally would hide failures
@SuppressWarnings("LockNotBeforeTry")
public abstract class LockViewRules extends RuleTest {

  @Rule("JUC-01")
  void aThreadCanLockAgainThroughAnyViewAndMustUnlockAsOften() throws Exception {
    String name = newName();
    LockClient client = client();
    Lock view = client.lock(name).asLock();
    testReentrancy(view, client.lock(name).asLock(), client().lock(name));
    view.lock();
    Future<Boolean> otherThread = inThread(client.lock(name).asLock()::tryLock);
    assertFalse(
        within(otherThread, "tryLock did not return"),
        "another thread of the same client acquired the lock");
    view.unlock();
  }

  @Rule("JUC-01")
  void holdsOfDifferentNamesAreIndependent() {
    LockClient client = client();
    Lock one = client.lock(newName()).asLock();
    Lock two = client.lock(newName()).asLock();
    one.lock();
    two.lock();
    one.unlock();
    assertThrows(IllegalMonitorStateException.class, one::unlock);
    two.unlock();
  }

  @Rule("JUC-02")
  void onlyTheThreadThatHoldsTheLockMayUnlockIt() throws Exception {
    String name = newName();
    Lock view = client().lock(name).asLock();
    assertThrows(IllegalMonitorStateException.class, view::unlock);
    view.lock();
    Future<?> otherThread =
        inThread(() -> assertThrows(IllegalMonitorStateException.class, view::unlock));
    within(otherThread, "unlock did not return");
    assertRefused(client().lock(name), "the refused unlock freed the lock");
    view.unlock();
    assertThrows(IllegalMonitorStateException.class, view::unlock);
  }

  @Rule("JUC-02")
  void thereAreNoConditions() {
    Lock view = client().lock(newName()).asLock();
    assertThrows(UnsupportedOperationException.class, view::newCondition);
  }

  @Rule("JUC-03")
  void lockIgnoresAnInterruptAndLeavesItsStatusSet() throws Exception {
    String name = newName();
    LockClient holder = client();
    var lease = holder.lock(name).acquire();
    Lock view = client().lock(name).asLock();
    Waiter<Boolean> waiter =
        new Waiter<>(
            () -> {
              view.lock();
              boolean interrupted = Thread.interrupted();
              view.unlock();
              return interrupted;
            });
    waiter.interrupt();
    awaitQueued(holder, name, 1);
    assertNever(
        Duration.ofMillis(500), waiter.outcome, "lock returned while another client held the lock");
    lease.close();
    assertEquals(
        Optional.of(true),
        within(waiter.outcome, "lock did not return after the release"),
        "the interrupt was swallowed");
  }

  @Rule("JUC-03")
  void lockInterruptiblyAndTimedTryLockEndWithTheInterrupt() throws Exception {
    String name = newName();
    try (var lease = client().lock(name).acquire()) {
      Lock view = client().lock(name).asLock();
      Waiter<Boolean> locking =
          new Waiter<>(
              () -> {
                view.lockInterruptibly();
                return true;
              });
      Waiter<Boolean> trying = new Waiter<>(() -> view.tryLock(1, TimeUnit.HOURS));
      eventually(() -> locking.isBlocked() && trying.isBlocked(), "the threads did not wait");
      locking.interrupt();
      trying.interrupt();
      assertEquals(
          Optional.empty(),
          within(locking.outcome, "lockInterruptibly was not interrupted"),
          "lockInterruptibly returned");
      assertEquals(
          Optional.empty(),
          within(trying.outcome, "tryLock was not interrupted"),
          "tryLock returned");
      assertTrue(lease.isHeld());
    }
  }

  @Rule("JUC-03")
  void anInterruptStatusThatWasSetBeforeCounts() throws Exception {
    LockClient client = client();
    String name = newName();
    Lock view = client.lock(name).asLock();
    Future<?> checks =
        doInThread(
            () -> {
              Thread.currentThread().interrupt();
              assertThrows(InterruptedException.class, view::lockInterruptibly);
              Thread.currentThread().interrupt();
              assertThrows(InterruptedException.class, () -> view.tryLock(1, TimeUnit.SECONDS));
              assertFalse(
                  Thread.interrupted(),
                  "InterruptedException was thrown without clearing the interrupt status");
              Thread.currentThread().interrupt();
              Deque<Lock> tried = new ArrayDeque<>();
              assertTrue(
                  answer(
                      () -> {
                        // After an unanswered attempt use another lock, since the first may be
                        // held.
                        tried.push(tried.isEmpty() ? view : client.lock(newName()).asLock());
                        return tried.element().tryLock();
                      }),
                  "tryLock() failed because of an interrupt");
              assertTrue(Thread.interrupted(), "tryLock swallowed the interrupt");
              tried.element().unlock();
              // An unanswered attempt is undone within twice the bound.
              eventually(
                  bound().multipliedBy(2),
                  () -> !client.admin().inspect(name).isHeld(),
                  "an interrupted call took the lock");
            });
    within(bound().multipliedBy(5), checks, "a call did not return");
  }

  @Rule("JUC-03")
  void tryLockDoesNotWaitAndTimedTryLockWaitsForItsTime() throws Exception {
    String name = newName();
    try (var lease = client().lock(name).acquire()) {
      Lock view = client().lock(name).asLock();
      Duration time = Duration.ofMillis(700);
      Future<Duration> timed =
          inThread(
              () -> {
                long start = System.nanoTime();
                assertFalse(answer(() -> view.tryLock(time.toMillis(), TimeUnit.MILLISECONDS)));
                return since(start);
              });
      Future<Boolean> untimed = inThread(() -> answer(() -> view.tryLock()));
      assertFalse(within(untimed, "tryLock waited"));
      assertFalse(
          within(
              inThread(() -> answer(() -> view.tryLock(0, TimeUnit.SECONDS))),
              "tryLock with a time of 0 waited"));
      Duration waited = within(bound().plus(time), timed, "tryLock did not return after its time");
      assertTrue(
          waited.compareTo(time) >= 0,
          () -> "tryLock returned after " + text(waited) + ", earlier than its time");
      assertTrue(lease.isHeld());
    }
  }

  @Rule("JUC-04")
  void everyCallReportsALossUntilTheLastUnlock() throws Exception {
    String name = newName();
    testLossInView(client(expiring()).lock(name).asLock(), client().lock(name));
  }

  @Rule("JUC-05")
  void theHolderHasOneLeaseUntilItsLastUnlock() throws Exception {
    String name = newName();
    LockClient client = client();
    LeasedLock view = client.lock(name).asLock();
    LeasedLock sameLock = client.lock(name).asLock();
    assertEquals(Optional.empty(), view.lease(), "lease() of a lock that is not held");
    view.lock();
    Lease lease = view.lease().orElseThrow();
    assertEquals(name, lease.name());
    assertHeld(lease, "the holder has a lease that is not held");
    sameLock.lock();
    assertSame(lease, sameLock.lease().orElseThrow(), "a nested hold has a lease of its own");
    assertEquals(
        Optional.empty(),
        within(inThread(view::lease), "lease() did not return"),
        "a thread that does not hold the lock has a lease of it");
    sameLock.unlock();
    assertSame(lease, view.lease().orElseThrow(), "the lease has changed within one hold");
    view.unlock();
    assertEquals(Optional.empty(), view.lease(), "lease() after the last unlock");
    assertFalse(lease.isHeld(), "the lease is still held after the last unlock");
    view.lock();
    assertTrue(view.lease().orElseThrow().isHeld(), "the next hold has a lease that is not held");
    view.unlock();
  }

  @Rule("JUC-05")
  void theHolderHasItsLeaseAfterALoss() throws Exception {
    LeasedLock view = client(unrenewed()).lock(newName()).asLock();
    view.lock();
    Lease lease = view.lease().orElseThrow();
    eventually(unrenewed().ttl().plus(bound()), () -> !lease.isHeld(), "the lease did not expire");
    assertSame(
        lease, view.lease().orElse(null), "the holder has no lease from which to learn of a loss");
    try {
      view.unlock();
    } catch (LeaseLostException e) {
      // JUC-04 is about that.
    }
    assertEquals(Optional.empty(), view.lease(), "lease() after the last unlock");
  }
}
