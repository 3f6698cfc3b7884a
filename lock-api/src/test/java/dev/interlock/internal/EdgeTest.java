package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ends of leases and readings of clocks that other tests do not reach. */
class EdgeTest extends EngineFixture {

  @Test
  void aPauseBetweenTheClocksDoesNotHideSleep() throws Exception {
    List<Duration> pause = new ArrayList<>(List.of(Duration.ofSeconds(8)));
    boolean[] armed = {false};
    dev.interlock.spi.TimeSource paused =
        new dev.interlock.spi.TimeSource() {
          @Override
          public long nanoTime() {
            return time.nanoTime();
          }

          @Override
          public long wallMillis() {
            if (armed[0]
                && !pause.isEmpty()
                && StackWalker.getInstance()
                    .walk(f -> f.limit(6).anyMatch(x -> x.getMethodName().equals("nextAttempt")))) {
              time.pass(pause.remove(0));
            }
            return time.wallMillis();
          }

          @Override
          public void parkUntil(Object blocker, long untilNanos) {
            time.parkUntil(blocker, untilNanos);
          }
        };
    try (DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, paused)) {
      armed[0] = true;
      Lease lease = client.lock("a", like(FIXED)).acquire();
      assertTrue(pause.isEmpty());
      time.sleepMachine(TTL.plusSeconds(1));
      assertTrue(!lease.isHeld());
    }
  }

  @Test
  void aLeaseThatIsAbandonedJustBeforeItsHandoffIsRenewedAgain() throws Exception {
    LeaseState[] state = new LeaseState[1];
    Boolean got =
        BlockingAcquisition.acquire(
            engine.acquirer,
            acquireRequest(RENEWED),
            lease -> {
              state[0] = lease;
              return true;
            });
    assertTrue(got);
    Background<Lease> next = inBackground(() -> acquire(RENEWED));
    time.awaitAsleep(next.thread);
    state[0].abandon("of the test");
    var unused = state[0].release(null);
    Lease lease = next.get();
    for (int i = 0; i < 9; i++) {
      time.advance(TTL.dividedBy(3));
      Waits.until("a renewal", () -> lease.remainingValidity().equals(TTL));
    }
  }

  @Test
  void aLeaseIsNotHandedOverWhoseValidityTheMachineHasSleptAway() throws Exception {
    Lease first = acquire(RENEWED);
    Background<Lease> next = inBackground(() -> acquire(RENEWED));
    time.awaitAsleep(next.thread);
    time.sleepMachine(TTL.multipliedBy(3).dividedBy(4));
    first.close();
    Lease lease = next.get();
    assertTrue(
        lease.remainingValidity().compareTo(TTL.multipliedBy(2).dividedBy(3)) >= 0,
        () -> "left: " + lease.remainingValidity());
    lease.close();
  }
}
