package dev.interlock.internal;

import static dev.interlock.internal.EngineFixture.RENEWED;
import static dev.interlock.internal.EngineFixture.TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** A backend without any notion of time, which it leaves to the engine. */
class PlainBackendTest {

  private static final Duration ROUND_TRIP = Duration.ofMillis(100);

  /** The certain part of a TTL that a store measures on its own clock. */
  private static final Duration CERTAIN = TTL.minus(TTL.dividedBy(1000)).minusMillis(2);

  private final ManualTime time = new ManualTime();
  private final Queue<RuntimeException> failures = new ArrayDeque<>();
  private final List<Claim> released = new ArrayList<>();
  private final List<Claim> forgotten = new ArrayList<>();
  private final CountDownLatch hung = new CountDownLatch(4);
  private final CountDownLatch unhang = new CountDownLatch(1);
  private boolean busy;
  private boolean countsFromRequest;

  private final class Plain implements LockBackend {
    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) {
      time.advance(ROUND_TRIP);
      if (!failures.isEmpty()) {
        throw failures.remove();
      }
      if (countsFromRequest) {
        long sentAt = time.nanoTime() - ROUND_TRIP.toNanos();
        return new Attempt.Granted(Grant.forTtl(claim, 7).countedFrom(sentAt));
      }
      return busy ? new Attempt.Busy() : new Attempt.Granted(claim, 7);
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
      if (grant.claim().name().startsWith("hangs")) {
        hung.countDown();
        unhang.await();
      }
      time.advance(ROUND_TRIP);
      return new Renewal.Confirmed();
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) {
      return released.add(claim);
    }

    @Override
    public void forget(Claim claim) {
      forgotten.add(claim);
    }

    @Override
    public BackendInfo info() {
      return BackendInfoBuilder.of("plain", "")
          .capabilities(Capability.FENCING)
          .minTtl(Duration.ofMillis(10))
          .build();
    }

    @Override
    public String endpoint() {
      return "here";
    }

    @Override
    public LockState inspect(String name, Deadline deadline) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean forceRelease(String name, Deadline deadline) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  private DefaultLockClient open() {
    return new DefaultLockClient(context -> new Plain(), RENEWED, time);
  }

  @Test
  void itsGrantsAreCertainForTheTtlFromBeforeTheRequest() throws Exception {
    try (DefaultLockClient engine = open();
        Lease lease = engine.lock("a").acquire()) {
      assertEquals(CERTAIN.minus(ROUND_TRIP), lease.remainingValidity());
      assertEquals(TTL, lease.effectiveTtl());
      assertEquals(7, lease.fencingToken() / Grant.LEASES_PER_GRANT);
    }
  }

  @Test
  void itsRenewalsAreCountedFromBeforeTheRequest() throws Exception {
    try (DefaultLockClient engine = open();
        Lease lease = engine.lock("a").acquire()) {
      time.advance(TTL.dividedBy(10));
      lease.renew();
      assertEquals(CERTAIN.minus(ROUND_TRIP), lease.remainingValidity());
    }
  }

  @Test
  void aGrantThatCountsFromItsRequestHasTheMarginAtOnceAndAfterEachRenewal() throws Exception {
    countsFromRequest = true;
    try (DefaultLockClient engine = open();
        Lease lease = engine.lock("a").acquire()) {
      assertEquals(CERTAIN.minus(ROUND_TRIP), lease.remainingValidity());
      lease.renew();
      assertEquals(CERTAIN.minus(ROUND_TRIP), lease.remainingValidity());
    }
  }

  /** One shard may hang. */
  @Test
  void renewalsThatHangCostNoOtherLease() throws Exception {
    try (DefaultLockClient engine = open()) {
      List<Lease> hanging = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        hanging.add(engine.lock("hangs" + i).acquire());
      }
      Lease healthy = engine.lock("healthy").acquire();
      CompletableFuture<LockEvent> renewed = new CompletableFuture<>();
      healthy.onEvent(renewed::complete);
      time.advance(TTL.dividedBy(3));
      hung.await();
      assertInstanceOf(LockEvent.Renewed.class, EngineFixture.get(renewed));
      unhang.countDown();
      hanging.forEach(Lease::close);
    } finally {
      unhang.countDown();
    }
  }

  @Test
  void waitersPollAtTheIntervalOfTheOptions() throws Exception {
    busy = true;
    try (DefaultLockClient engine = open()) {
      EngineFixture.Background<Optional<Lease>> waiter =
          EngineFixture.inBackground(() -> engine.lock("a").tryAcquire(TTL.multipliedBy(9)));
      time.awaitAsleep(waiter.thread);
      busy = false;
      // Waiters poll slightly later at random, so that they do not poll in step.
      time.advance(RENEWED.pollInterval().multipliedBy(2));
      assertTrue(waiter.get().orElseThrow().isHeld());
    }
  }

  @Test
  void aRequestThatWasNotSentIsNotUndone() {
    failures.add(LockUnavailableException.notSent("plain", "here", "refused", null));
    try (DefaultLockClient engine = open()) {
      LockUnavailableException e =
          assertThrows(LockUnavailableException.class, engine.lock("a")::tryAcquire);
      assertFalse(e.isInDoubt());
      assertEquals(0, engine.residue());
    }
    assertEquals(1, forgotten.size());
    assertEquals(List.of(), released);
  }

  @Test
  void aRequestInDoubtIsUndone() {
    failures.add(new LockUnavailableException("plain", "here", "no answer", null));
    try (DefaultLockClient engine = open()) {
      LockUnavailableException e =
          assertThrows(LockUnavailableException.class, engine.lock("a")::tryAcquire);
      assertTrue(e.isInDoubt());
      EngineFixture.advanceUntil(time, "the undo", () -> !released.isEmpty());
    }
  }
}
