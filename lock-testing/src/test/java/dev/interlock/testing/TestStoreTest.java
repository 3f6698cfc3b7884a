package dev.interlock.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TestStoreTest {
  private static final LockOptions SHORT_TIMEOUT =
      LockOptions.builder().requestTimeout(Duration.ofMillis(50)).build();

  @Test
  void twoClientsExcludeEachOtherAndAReleaseWakesTheWaiter() throws Exception {
    try (TestStore store = new TestStore();
        LockClient one = store.open();
        LockClient two = store.open()) {
      Lease lease = one.lock("job").acquire();
      assertEquals(Optional.empty(), two.lock("job").tryAcquire());
      CompletableFuture<Lease> next = two.lock("job").acquireAsync();
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
      assertTrue(next.get().fencingToken() > lease.fencingToken());
    }
  }

  @Test
  void readersAndPermitsShareALockAndAreListed() throws Exception {
    try (TestStore store = new TestStore();
        LockClient one = store.open();
        LockClient two = store.open()) {
      Lease reader = one.readWriteLock("catalog").readLock().acquire();
      Lease second = two.readWriteLock("catalog").readLock().acquire();
      CompletableFuture<Lease> writer = two.readWriteLock("catalog").writeLock().acquireAsync();
      Lease permit = one.semaphore("downloads", 2).acquire();
      try (Stream<LockState> listed = two.admin().list("")) {
        assertEquals(Set.of("catalog", "downloads"), names(listed));
      }
      assertEquals(ReleaseOutcome.RELEASED, reader.release());
      assertFalse(writer.isDone());
      assertEquals(ReleaseOutcome.RELEASED, second.release());
      assertTrue(writer.get().isHeld());
      assertEquals(Optional.empty(), two.semaphore("downloads", 2).permits(2).tryAcquire());
      permit.close();

      store.goDown();
      assertThrows(LockUnavailableException.class, () -> two.admin().list("").findFirst());
      assertThrows(
          LockUnavailableException.class, () -> two.semaphore("downloads", 2).tryAcquire());
    }
  }

  private static Set<String> names(Stream<LockState> listed) {
    return listed.map(LockState::name).collect(Collectors.toSet());
  }

  @Test
  void aLockThatIsTakenAwayIsLostAtTheNextRenewal() throws Exception {
    try (TestStore store = new TestStore();
        LockClient client = store.open()) {
      Lease lease = client.lock("job").acquire();
      assertTrue(store.takeAway("job"));
      LeaseLostException loss = assertThrows(LeaseLostException.class, lease::renew);
      assertEquals(LossReason.TAKEN, loss.reason());
      assertFalse(store.takeAway("job"));
    }
  }

  @Test
  void aStoreThatIsDownFailsAtOnceAndServesAfterwards() throws Exception {
    try (TestStore store = new TestStore();
        LockClient client = store.open()) {
      store.goDown();
      assertThrows(LockUnavailableException.class, () -> client.lock("job").tryAcquire());
      store.recover();
      client.lock("job").acquire().close();
    }
  }

  @Test
  void aSilentStoreLetsRequestsTimeOut() {
    try (TestStore store = new TestStore();
        LockClient client = store.open(SHORT_TIMEOUT)) {
      store.fallSilent();
      assertThrows(LockUnavailableException.class, () -> client.lock("job").tryAcquire());
      assertFalse(store.inspect("job").isHeld());
    }
  }

  @Test
  void anAcquisitionWhoseReplyIsLostIsUndoneWhenTheStoreRecovers() throws Exception {
    try (TestStore store = new TestStore();
        LockClient client = store.open(SHORT_TIMEOUT)) {
      store.loseReplies();
      assertThrows(LockUnavailableException.class, () -> client.lock("job").tryAcquire());
      store.recover();
      client.lock("job").acquire().close(); // waits for the undo
    }
  }

  @Test
  void aSlowStoreAnswersLate() throws Exception {
    ManualClock clock = new ManualClock();
    try (TestStore store = new TestStore(clock);
        LockClient client = store.open()) {
      store.slowDown(Duration.ofSeconds(1));
      CompletableFuture<Lease> slow = client.lock("job").acquireAsync();
      while (store.pendingRequests() == 0) {
        Thread.onSpinWait();
      }
      clock.advance(Duration.ofMillis(999));
      assertFalse(store.inspect("job").isHeld());
      clock.advance(Duration.ofMillis(1));
      Lease lease = slow.get();
      store.recover();
      lease.close();
    }
  }

  @Test
  void aLeaseIsAtRiskAndThenLostByTheManualClock() throws Exception {
    ManualClock clock = new ManualClock();
    try (TestStore store = new TestStore(clock);
        LockClient client = store.open()) {
      BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
      Lease lease = client.lock("job").acquire();
      lease.onEvent(
          event -> {
            if (!(event instanceof LockEvent.RenewalFailed)) {
              events.add(event);
            }
          });
      store.goDown();
      clock.advance(lease.effectiveTtl().multipliedBy(3).dividedBy(4));
      assertTrue(events.take() instanceof LockEvent.AtRisk);
      clock.advance(lease.effectiveTtl().dividedBy(4));
      assertEquals(LossReason.EXPIRED, lease.onLoss().get().reason());
      assertTrue(events.take() instanceof LockEvent.Lost);
    }
  }

  @Test
  void renewalsFollowTheManualClock() throws Exception {
    ManualClock clock = new ManualClock();
    try (TestStore store = new TestStore(clock);
        LockClient client = store.open()) {
      BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
      Lease lease = client.lock("job").acquire();
      lease.onEvent(events::add);
      for (int i = 0; i < 10; i++) {
        clock.advance(lease.effectiveTtl().dividedBy(3));
        assertTrue(events.take() instanceof LockEvent.Renewed);
      }
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void aMachineThatSleptLosesItsLease() throws Exception {
    ManualClock clock = new ManualClock();
    try (TestStore store = new TestStore(clock);
        LockClient client = store.open()) {
      Lease lease = client.lock("job").acquire();
      clock.sleepMachine(lease.effectiveTtl().plusSeconds(1));
      assertFalse(lease.isHeld());
      assertEquals(LossReason.SUSPENDED, lease.onLoss().get().reason());
    }
  }

  @Test
  void aClockCannotBeSetBack() {
    assertThrows(
        IllegalArgumentException.class, () -> new ManualClock().advance(Duration.ofNanos(-1)));
  }
}
