package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The states of a lease under concurrent release, loss, renewal and queries: as if one by one. */
class LeaseLincheckTest {

  private static final LockOptions OPTIONS = LockOptions.builder().ttl(Duration.ofHours(1)).build();
  private static final AtomicReference<BackendContext> CONTEXT = new AtomicReference<>();
  private static final ManualTime TIME = new ManualTime();
  private static final FakeStore STORE = new FakeStore(TIME);
  private static final DefaultLockClient ENGINE = engine();

  private static DefaultLockClient engine() {
    return new DefaultLockClient(
        context -> {
          CONTEXT.set(context);
          return STORE.open(context);
        },
        OPTIONS,
        TIME);
  }

  /** A new lease for each scenario; the engine is shared, because its threads are. */
  public static class OneLease {
    private final LeaseState lease;
    private final Claim claim;
    private final Set<ReleaseOutcome> outcomes = ConcurrentHashMap.newKeySet();

    /** Acquires the lease. */
    public OneLease() {
      String name = UUID.randomUUID().toString();
      Request request =
          Request.forTryAcquire(ENGINE.engine, name, Share.EXCLUSIVE, OPTIONS, null, Duration.ZERO);
      lease =
          ENGINE.engine.callUninterrupted(
              () ->
                  Objects.requireNonNull(
                      BlockingAcquisition.acquire(ENGINE.acquirer, request, held -> held)));
      claim = Objects.requireNonNull(STORE.lastClaim());
    }

    @Operation
    public boolean isHeld() {
      return lease.isHeld();
    }

    /**
     * The outcome is not part of the atomic operation: the lease is not held from the beginning of
     * the release, and a loss that becomes known before its end is still its outcome.
     */
    @Operation
    public void release() {
      outcomes.add(lease.release(null));
    }

    /** All releases have the same outcome. */
    @Operation
    public boolean isOutcomeUnique() {
      return outcomes.size() <= 1;
    }

    @Operation
    public void lose() {
      Objects.requireNonNull(CONTEXT.get()).reportLoss(claim, LossReason.TAKEN, "says the store");
    }

    /** A lost and a released lease count as one state here, for the same reason. */
    @Operation
    public boolean renew() throws InterruptedException {
      try {
        ENGINE.engine.renewer.renewNow(List.of(lease.grant()), ENGINE.engine.requestDeadline());
        return true;
      } catch (LeaseLostException | IllegalStateException e) {
        return false;
      }
    }
  }

  /** Tests that wait for the timers of their own engines would also wait for this one. */
  @AfterAll
  static void closeEngine() {
    ENGINE.close();
  }

  @Test
  void transitionsAreAtomic() {
    assertAtomic(8);
  }

  @Test
  @Tag("extended")
  void transitionsAreAtomicInManyScenarios() {
    assertAtomic(40);
  }

  private static void assertAtomic(int scenarios) {
    new StressOptions()
        .iterations(scenarios)
        .invocationsPerIteration(500)
        .threads(3)
        .actorsPerThread(3)
        .check(OneLease.class);
  }
}
