package dev.interlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockUnavailableException;
import dev.interlock.testing.ManualClock;
import dev.interlock.testing.TestStore;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests a nightly job without a server and without waiting. */
class NightlyJobTest {

  @Test
  void anotherMachineDoesNotRunItAtTheSameTime() throws Exception {
    AtomicInteger runs = new AtomicInteger();
    try (LockClient one = LockClient.open("memory:nightly-job");
        LockClient other = LockClient.open("memory:nightly-job")) {
      NightlyJob onOther = new NightlyJob(other);
      assertTrue(
          new NightlyJob(one).runUnlessTaken(() -> onOther.runUnlessTaken(runs::incrementAndGet)));
      assertEquals(0, runs.get());
    }
  }

  @Test
  void aMachineWhoseClockIsBehindDoesNotRunItAgain() throws Exception {
    ManualClock clock = new ManualClock();
    try (TestStore store = new TestStore(clock);
        LockClient one = store.open();
        LockClient late = store.open()) {
      assertTrue(new NightlyJob(one).runUnlessTaken(() -> "done"));
      clock.advance(Duration.ofSeconds(5));
      assertFalse(new NightlyJob(late).runUnlessTaken(() -> "done again"));
    }
  }

  @Test
  void theWorkIsInterruptedWhenTheLeaseIsLost() throws Exception {
    ManualClock clock = new ManualClock();
    try (TestStore store = new TestStore(clock);
        LockClient client = store.open()) {
      assertThrows(
          LeaseLostException.class,
          () ->
              new NightlyJob(client)
                  .runUnlessTaken(
                      () -> {
                        store.goDown();
                        clock.advance(client.options().ttl());
                        new CountDownLatch(1).await(); // until interrupted
                        return "done";
                      }));
    }
  }

  @Test
  void anUnreachableStoreIsAFailureAndNotASkippedRun() {
    try (TestStore store = new TestStore();
        LockClient client = store.open()) {
      store.goDown();
      assertThrows(
          LockUnavailableException.class,
          () -> new NightlyJob(client).runUnlessTaken(() -> "done"));
    }
  }
}
