package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseInfo;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockEvent.NotAcquired.Reason;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.MultiLease;
import dev.interlock.Registration;
import dev.interlock.ReleaseOutcome;
import dev.interlock.WaiterInfo;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The events of acquisitions and leases. */
class EventsTest extends EngineFixture {

  private static final Duration HUNDRED_TTLS = TTL.multipliedBy(100);
  private static final Duration INTERVAL = TTL.dividedBy(3);

  private final BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
  private final Registration registration = engine.onEvent(events::add);

  private void assertNoMore() throws InterruptedException {
    // Listeners are called in order: all earlier events have come when this one has.
    engine.engine.notifier.enqueueAll(new Marker());
    engine.engine.notifier.flush();
    assertTrue(next(events) instanceof Marker);
  }

  private static final class Marker implements LockEvent {
    @Override
    public String name() {
      return "";
    }

    @Override
    public LockKind kind() {
      return LockKind.EXCLUSIVE;
    }

    @Override
    public OptionalLong fencingToken() {
      return OptionalLong.empty();
    }

    @Override
    public long acquisition() {
      return 0;
    }

    @Override
    public Instant time() {
      return Instant.EPOCH;
    }

    @Override
    public String label() {
      return "";
    }
  }

  @Test
  void anAcquisitionReportsItsWaitAndItsLeaseTheTimeItWasHeld() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    CompletableFuture<Lease> future =
        engine.lock("a", options -> options.label("me").autoRenew(false)).acquireAsync();
    LockEvent.Waiting waiting = next(events, LockEvent.Waiting.class);
    assertEquals("a", waiting.name());
    assertTrue(waiting.fencingToken().isEmpty());
    assertEquals("me", waiting.label());
    assertEquals(Instant.ofEpochMilli(time.wallMillis()), waiting.time());
    time.advance(Duration.ofSeconds(2));
    store.free("a");
    advanceUntil("the grant", future::isDone);
    LockEvent.Acquired acquired = next(events, LockEvent.Acquired.class);
    assertEquals(waiting.acquisition(), acquired.acquisition());
    assertEquals(get(future).fencingToken(), acquired.fencingToken().orElseThrow());
    assertTrue(acquired.waited().compareTo(Duration.ofSeconds(2)) >= 0, "" + acquired.waited());
    assertFalse(acquired.handedOff());
    time.advance(Duration.ofSeconds(1));
    get(future).close();
    LockEvent.Released released = next(events, LockEvent.Released.class);
    assertEquals(waiting.acquisition(), released.acquisition());
    assertTrue(released.heldFor().compareTo(Duration.ofSeconds(1)) >= 0, "" + released.heldFor());
    assertEquals("me", released.label());
    assertNoMore();
  }

  @Test
  void aHandoffIsReportedByTheAcquisitionThatGotTheLock() throws Exception {
    Lease first = acquire(RENEWED);
    long one = next(events, LockEvent.Acquired.class).acquisition();
    CompletableFuture<Lease> second = engine.lock("a").acquireAsync();
    assertEquals(
        engine.leases().get(0).label(),
        next(events, LockEvent.Waiting.class).heldBy().orElseThrow());
    first.close();
    get(second);
    assertEquals(one, next(events, LockEvent.Released.class).acquisition());
    LockEvent.Acquired acquired = next(events, LockEvent.Acquired.class);
    assertNotEquals(one, acquired.acquisition());
    assertTrue(acquired.handedOff());
    get(second).close();
    next(events, LockEvent.Released.class);
    assertNoMore();
  }

  @Test
  void anAcquisitionWithoutALeaseReportsTheReason() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
    LockEvent.NotAcquired busy = next(events, LockEvent.NotAcquired.class);
    assertSame(Reason.TIMED_OUT, busy.reason());
    assertEquals(Duration.ZERO, busy.waited());
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    next(events, LockEvent.Waiting.class);
    waiter.thread.interrupt();
    assertSame(Reason.INTERRUPTED, next(events, LockEvent.NotAcquired.class).reason());
    CompletableFuture<Lease> future = engine.lock("a").acquireAsync();
    long number = next(events, LockEvent.Waiting.class).acquisition();
    assertTrue(future.cancel(false));
    LockEvent.NotAcquired cancelled = next(events, LockEvent.NotAcquired.class);
    assertSame(Reason.CANCELLED, cancelled.reason());
    assertEquals(number, cancelled.acquisition());
    CompletableFuture<Optional<Lease>> timed =
        engine.lock("a").tryAcquireAsync(Duration.ofSeconds(3));
    next(events, LockEvent.Waiting.class);
    advanceUntil("the time-out", timed::isDone);
    LockEvent.NotAcquired late = next(events, LockEvent.NotAcquired.class);
    assertSame(Reason.TIMED_OUT, late.reason());
    assertTrue(late.waited().compareTo(Duration.ofSeconds(3)) >= 0);
    assertEquals(Optional.empty(), late.failure());
    Waits.until("nothing to be left", () -> engine.holdings.queues.size() == 0);
    assertNoMore();
  }

  @Test
  void aFailureIsReportedWithItsCause() throws Exception {
    store.down(true);
    assertThrows(LockUnavailableException.class, () -> engine.lock("a").tryAcquire());
    LockEvent.NotAcquired failed = next(events, LockEvent.NotAcquired.class);
    assertSame(Reason.FAILED, failed.reason());
    assertTrue(failed.failure().orElseThrow() instanceof LockUnavailableException);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    LockException problem = next(events, LockEvent.AttemptFailed.class).failure();
    assertTrue(problem instanceof LockUnavailableException);
    store.down(false);
    advanceUntil("the grant", waiter.result::isDone);
    LockEvent event = next(events);
    while (!(event instanceof LockEvent.Acquired)) {
      assertFalse(event instanceof LockEvent.Waiting, "nobody holds the lock");
      event = next(events);
    }
    waiter.get().close();
  }

  @Test
  void theClientListsItsWaitersAndLeases() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    assertEquals(List.of(), engine.waiters());
    CompletableFuture<Lease> head =
        engine.lock("a", options -> options.label("head")).acquireAsync();
    next(events, LockEvent.Waiting.class);
    time.advance(Duration.ofSeconds(2));
    CompletableFuture<Lease> behind =
        engine.lock("a", options -> options.label("behind")).acquireAsync();
    next(events, LockEvent.Waiting.class);
    time.advance(Duration.ofSeconds(1));
    assertEquals(
        Map.of("head", Duration.ofSeconds(3), "behind", Duration.ofSeconds(1)),
        engine.waiters().stream().collect(Collectors.toMap(WaiterInfo::label, WaiterInfo::waited)));
    assertEquals("a", engine.waiters().get(0).name());
    assertSame(LockKind.EXCLUSIVE, engine.waiters().get(0).kind());
    behind.cancel(false);
    Waits.until("the head alone", () -> engine.waiters().size() == 1);
    store.down(true);
    next(events, LockEvent.NotAcquired.class);
    List<LockEvent> seen = new ArrayList<>();
    advanceUntil(
        "a failure",
        () -> {
          events.drainTo(seen);
          return seen.stream().anyMatch(LockEvent.AttemptFailed.class::isInstance);
        });
    assertEquals(1, engine.waiters().size(), "it retries");
    store.down(false);
    store.free("a");
    advanceUntil("the grant", head::isDone);
    assertEquals(List.of(), engine.waiters());
    Duration before = engine.leases().get(0).heldFor();
    time.advance(Duration.ofSeconds(4));
    assertEquals(before.plusSeconds(4), engine.leases().get(0).heldFor());
    assertSame(LockKind.EXCLUSIVE, engine.leases().get(0).kind());
    get(head).close();
    assertEquals(List.of(), engine.leases());
  }

  @Test
  void aClosedClientEndsTheWaitAsAFailure() throws Exception {
    Lease first = acquire(RENEWED);
    next(events, LockEvent.Acquired.class);
    CompletableFuture<Lease> waiting = engine.lock("a").acquireAsync();
    next(events, LockEvent.Waiting.class);
    engine.close();
    assertThrows(Exception.class, () -> get(waiting));
    LockEvent event = next(events);
    while (!(event instanceof LockEvent.NotAcquired)) {
      event = next(events);
    }
    assertSame(Reason.FAILED, ((LockEvent.NotAcquired) event).reason());
    assertFalse(first.isHeld());
  }

  @Test
  void everyFailedRenewalIsReported() throws Exception {
    Lease lease = acquire(RENEWED);
    next(events, LockEvent.Acquired.class);
    store.down(true);
    time.advance(INTERVAL);
    LockEvent.RenewalFailed failed = next(events, LockEvent.RenewalFailed.class);
    assertEquals(TTL.minus(INTERVAL), failed.remaining());
    next(events, LockEvent.AtRisk.class);
    advanceUntil("another failure", () -> !events.isEmpty());
    next(events, LockEvent.RenewalFailed.class);
    store.down(false);
    lease.close();
  }

  @Test
  void aSetReportsTheSetAndItsClientEachName() throws Exception {
    MultiLease set = engine.multiLock(List.of("a", "b")).acquire();
    long number = next(events, LockEvent.Acquired.class).acquisition();
    LockEvent.Acquired second = next(events, LockEvent.Acquired.class);
    assertEquals("b", second.name());
    assertEquals(number, second.acquisition());
    BlockingQueue<LockEvent> ofSet = eventsOf(set);
    time.advance(INTERVAL);
    LockEvent.Renewed renewed = next(ofSet, LockEvent.Renewed.class);
    assertEquals("a, b", renewed.name());
    assertEquals(number, renewed.acquisition());
    assertTrue(renewed.fencingToken().isEmpty());
    store.down(true);
    time.advance(INTERVAL);
    LockEvent.AtRisk risk = next(ofSet, LockEvent.AtRisk.class);
    assertEquals("a, b", risk.name());
    store.down(false);
    advanceUntil("another renewal", () -> !ofSet.isEmpty());
    next(ofSet, LockEvent.Renewed.class);
    set.close();
    LockEvent.Released released = next(ofSet, LockEvent.Released.class);
    assertEquals(number, released.acquisition());
    assertTrue(ofSet.isEmpty());
  }

  @Test
  void aRemovedListenerGetsNoMoreEvents() throws Exception {
    Lease lease = acquire(RENEWED);
    next(events, LockEvent.Acquired.class);
    BlockingQueue<LockEvent> ofLease = new LinkedBlockingQueue<>();
    Registration one = lease.onEvent(ofLease::add);
    BlockingQueue<LockEvent> other = eventsOf(lease);
    one.close();
    one.close();
    registration.close();
    lease.close();
    next(other, LockEvent.Released.class);
    MultiLease set = engine.multiLock(List.of("a", "b")).acquire();
    Registration third = set.onEvent(ofLease::add);
    BlockingQueue<LockEvent> last = eventsOf(set);
    third.close();
    set.close();
    next(last, LockEvent.Released.class);
    assertTrue(events.isEmpty() && ofLease.isEmpty());
    assertFalse(engine.engine.notifier.hasListeners());
  }

  @Test
  void leasesAreListedWithoutTheStore() throws Exception {
    assertEquals(List.of(), engine.leases());
    Instant since = Instant.ofEpochMilli(time.wallMillis());
    Lease lease = engine.lock("b", options -> options.label("me")).acquire();
    MultiLease set = engine.multiLock(List.of("c", "a")).acquire();
    time.advance(Duration.ofSeconds(1));
    store.down(true);
    List<LeaseInfo> leases = engine.leases();
    assertEquals(List.of("a", "b", "c"), leases.stream().map(LeaseInfo::name).toList());
    LeaseInfo info = leases.get(1);
    assertEquals(OptionalLong.of(lease.fencingToken()), info.fencingToken());
    assertEquals(lease.remainingValidity(), info.remainingValidity());
    assertEquals(since, info.heldSince());
    assertEquals("me", info.label());
    store.down(false);
    lease.close();
    set.close();
    assertEquals(List.of(), engine.leases());
  }

  @Test
  void theLastSeenHolderIsInTheTimeout() throws Exception {
    LockOptions impatient = LockOptions.builder().waitTimeout(Duration.ofMillis(50)).build();
    try (LockClient one = LockClient.open("memory:holders?label=one");
        LockClient two = LockClient.open("memory:holders", impatient);
        Lease lease = one.lock("a").acquire()) {
      BlockingQueue<LockEvent> ofTwo = new LinkedBlockingQueue<>();
      two.onEvent(ofTwo::add);
      LockTimeoutException late =
          assertThrows(LockTimeoutException.class, () -> two.lock("a").acquire());
      assertEquals("a", late.name());
      assertEquals(Optional.of("one"), late.heldBy());
      assertTrue(late.getMessage().contains("held by one"), late.getMessage());
      assertTrue(ofTwo.poll(30, TimeUnit.SECONDS) instanceof LockEvent.Waiting);
      LockEvent.NotAcquired failure = (LockEvent.NotAcquired) ofTwo.poll(30, TimeUnit.SECONDS);
      assertTrue(failure != null && failure.heldBy().equals(Optional.of("one")));
      assertThrows(LockTimeoutException.class, () -> two.multiLock(List.of("a", "b")).acquire());
      LockTimeoutException again =
          assertThrows(
              LockTimeoutException.class,
              () -> one.lock("a", o -> o.waitTimeout(Duration.ofMillis(50))).acquire());
      assertEquals(Optional.of("one"), again.heldBy());
      assertTrue(lease.isHeld());
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  @Test
  void aClientDescribesItself() {
    assertEquals("LockClient[fake at nowhere:1]", engine.toString());
  }
}
