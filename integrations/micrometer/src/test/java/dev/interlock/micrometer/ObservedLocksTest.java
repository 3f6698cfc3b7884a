package dev.interlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.MultiLease;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.testbed.Eventually;
import dev.interlock.testing.ManualClock;
import dev.interlock.testing.TestStore;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ObservedLocksTest {

  private final ManualClock clock = new ManualClock();
  @AutoClose private final TestStore store = new TestStore(clock);
  @AutoClose private final LockClient client = store.open();
  @AutoClose private final LockClient other = store.open();
  private final TestObservationRegistry registry = TestObservationRegistry.create();
  private final ObservedLocks locks = new ObservedLocks(client, registry);

  /** The observations that have ended, in order. */
  private final BlockingQueue<Observation.Context> ended = new LinkedBlockingQueue<>();

  private final Map<Observation.Context, List<String>> happened = new ConcurrentHashMap<>();

  ObservedLocksTest() {
    registry.observationConfig().observationHandler(new Ends());
  }

  private final class Ends implements ObservationHandler<Observation.Context> {
    @Override
    public void onEvent(Observation.Event event, Observation.Context context) {
      happened.merge(
          context,
          List.of(event.getName()),
          (a, b) -> Stream.concat(a.stream(), b.stream()).toList());
    }

    @Override
    public void onStop(Observation.Context context) {
      ended.add(context);
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return true;
    }
  }

  private static Map<String, String> keys(Observation.Context context) {
    return context.getAllKeyValues().stream()
        .collect(Collectors.toMap(KeyValue::getKey, KeyValue::getValue));
  }

  private void assertEnded(String span, String outcome) throws InterruptedException {
    Observation.Context context = ended.take();
    assertEquals(span, context.getContextualName());
    assertEquals(outcome, keys(context).get("outcome"));
  }

  @Test
  void anAcquisitionAndAHoldAreSpansAndWorkUnderTheLeaseIsAChildOfTheHold() throws Exception {
    Observation request = Observation.createNotStarted("request", registry).start();
    long token;
    try (Observation.Scope scope = request.openScope();
        Lease lease = locks.lock("orders/42").acquire()) {
      token = lease.fencingToken();
      String done =
          lease.callWhileHeld(
              () -> {
                Observation.createNotStarted("work", registry).observe(() -> {});
                return "done";
              });
      assertEquals("done", done);
      assertSame(request, registry.getCurrentObservation());
    }
    Observation.Context acquire = ended.take();
    Observation.Context work = ended.take();
    Observation.Context hold = ended.take(); // by the thread of events
    request.stop();
    assertEquals("interlock.lock.acquire", acquire.getName());
    assertEquals("interlock.acquire", acquire.getContextualName());
    assertEquals("interlock.lock.hold", hold.getName());
    assertEquals("interlock.hold", hold.getContextualName());
    assertEquals("work", work.getName());
    assertSame(hold, work.getParentObservation().getContextView());
    assertSame(request.getContextView(), hold.getParentObservation().getContextView());
    assertSame(request.getContextView(), acquire.getParentObservation().getContextView());
    for (Observation.Context context : List.of(acquire, hold)) {
      assertEquals(
          Map.of(
              "backend", "test",
              "kind", "exclusive",
              "outcome", context == acquire ? "acquired" : "released",
              "interlock.lock.name", "orders/42",
              "interlock.lock.token", Long.toString(token)),
          keys(context));
      assertEquals(
          List.of("backend", "kind", "outcome"),
          context.getLowCardinalityKeyValues().stream().map(KeyValue::getKey).toList());
    }
    TestObservationRegistryAssert.assertThat(registry).doesNotHaveAnyRemainingCurrentObservation();
  }

  @Test
  void aLossIsAnErrorOfTheHold() throws Exception {
    Lease lease = locks.lock("a").acquire();
    assertTrue(store.takeAway("a"));
    LeaseLostException thrown =
        assertThrows(
            LeaseLostException.class,
            () ->
                lease.callWhileHeld(
                    () -> {
                      lease.renew();
                      return null;
                    }));
    assertEquals("a", thrown.name());
    lease.close();
    assertEnded("interlock.acquire", "acquired");
    Observation.Context hold = ended.take();
    assertEquals("lost", keys(hold).get("outcome"));
    assertTrue(hold.getError() instanceof LeaseLostException, "" + hold.getError());
    assertTrue(happened.get(hold).contains("interlock.lost"), "" + happened);
    assertTrue(ended.isEmpty());
  }

  /** The registry of this test refuses to close a scope, or to add an event, after the end. */
  @Test
  void aHoldThatEndsDuringItsWorkIsObservedUntilTheWorkEnds() throws Exception {
    Lease released = locks.lock("a").acquire();
    int done =
        released.callWhileHeld(
            () -> {
              released.close();
              Observation.createNotStarted("work", registry).observe(() -> {});
              return 1;
            });
    assertEquals(1, done);
    assertEnded("interlock.acquire", "acquired");
    assertEquals("work", ended.take().getName());
    assertEnded("interlock.hold", "released");

    Lease taken = locks.lock("b").acquire();
    assertThrows(
        LeaseLostException.class,
        () ->
            taken.callWhileHeld(
                () -> {
                  store.takeAway("b");
                  assertThrows(LeaseLostException.class, taken::renew);
                  LeaseLostException loss = taken.onLoss().get();
                  Observation.Context hold = current();
                  Eventually.holds("the loss is observed", () -> happened.containsKey(hold));
                  throw loss;
                }));
    assertEnded("interlock.acquire", "acquired");
    Observation.Context hold = ended.take();
    assertEquals("lost", keys(hold).get("outcome"));
    assertEquals(List.of("interlock.lost"), happened.get(hold));
    assertTrue(ended.isEmpty());
  }

  private Observation.Context current() {
    return registry.getCurrentObservation().getContext();
  }

  @Test
  void aLeaseAtRiskIsAnEventOfTheHold() throws Exception {
    Lease lease = locks.lock("a").acquire();
    store.goDown();
    assertThrows(Exception.class, lease::renew);
    // Listeners are called independently, so another listener cannot tell when this one was called.
    Eventually.holds("the observation has the event", () -> !happened.isEmpty());
    store.recover();
    lease.close();
    assertEnded("interlock.acquire", "acquired");
    Observation.Context hold = ended.take();
    assertEquals(List.of("interlock.at.risk"), happened.get(hold));
  }

  @Test
  void everyWayToEndWithoutALeaseIsAnOutcome() throws Exception {
    Lease theirs = other.lock("a").acquire();
    assertEquals(Optional.empty(), locks.lock("a").tryAcquire());
    assertEnded("interlock.acquire", "timed_out");
    assertEquals(Optional.empty(), locks.lock("a").tryAcquire(Duration.ZERO));
    assertEnded("interlock.acquire", "timed_out");
    assertEquals(Optional.empty(), locks.lock("a").tryAcquireAsync().get());
    assertEnded("interlock.acquire", "timed_out");

    CompletableFuture<Lease> late =
        locks.lock("a", o -> o.waitTimeout(Duration.ofSeconds(1))).acquireAsync();
    Eventually.holds("it waits", () -> !client.waiters().isEmpty());
    clock.advance(Duration.ofSeconds(1));
    Observation.Context timedOut = ended.take();
    assertEquals("timed_out", keys(timedOut).get("outcome"));
    assertTrue(timedOut.getError() instanceof LockTimeoutException);
    assertTrue(late.isCompletedExceptionally() || late.handle((l, e) -> e).get() != null);

    CompletableFuture<Lease> cancelled = locks.lock("a").acquireAsync();
    assertTrue(cancelled.cancel(false));
    assertEnded("interlock.acquire", "cancelled");

    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> locks.lock("a").acquire());
    assertEnded("interlock.acquire", "interrupted");

    theirs.close();
    store.goDown();
    // Another name, because the cancelled waiter may still be in the queue of this one.
    assertThrows(Exception.class, () -> locks.lock("b").tryAcquire());
    assertEnded("interlock.acquire", "failed");
    store.recover();
    other.lock("a").acquire().close();
  }

  @Test
  void aFutureThatIsCancelledAtTheLastMomentLeavesTheLockFree() throws Exception {
    try (LockClient one = LockClient.open("memory:cancelled");
        LockClient two = LockClient.open("memory:cancelled")) {
      ObservedLocks cancelled = new ObservedLocks(one, registry);
      for (int i = 0; i < 1000; i++) {
        CompletableFuture<Lease> future = cancelled.lock("a").acquireAsync();
        for (int spin = 0; spin < i; spin++) {
          Thread.onSpinWait();
        }
        future.cancel(false);
        var unused = future.thenAccept(Lease::close);
      }
      two.lock("a").acquire().close();
      assertEquals(List.of(), one.leases());
    }
  }

  @Test
  void asynchronousHoldsEndWithTheirLease() throws Exception {
    Lease lease = locks.lock("a").acquireAsync().get();
    assertEnded("interlock.acquire", "acquired");
    lease.releaseAsync().get();
    assertEnded("interlock.hold", "released");
    Lease maybe = locks.lock("a").tryAcquireAsync(Duration.ofSeconds(1)).get().orElseThrow();
    client.close();
    assertEnded("interlock.acquire", "acquired");
    assertEnded("interlock.hold", "lost");
    assertTrue(!maybe.isHeld());
  }

  @Test
  void setsReadersAndPermitsAreObservedToo() throws Exception {
    try (LockClient memory =
        ClientsWithTimeSource.open("memory:observed", LockOptions.defaults(), clock)) {
      ObservedLocks all = new ObservedLocks(memory, registry);
      MultiLease set = all.multiLock(List.of("a", "b")).acquire();
      assertTrue(set.fencingToken("a") > 0);
      set.close();
      all.readWriteLock("c").readLock().acquire().close();
      all.semaphore("d", 3).permits(2).acquire().close();
    }
    List<String> names =
        ended.stream()
            .map(
                context ->
                    keys(context).get("interlock.lock.name") + " " + keys(context).get("kind"))
            .distinct()
            .toList();
    assertEquals(List.of("a, b exclusive", "c read_write", "d semaphore"), names);
    assertEquals(6, ended.size());
  }

  @Test
  void aConventionCanBeReplaced() throws Exception {
    class Terse extends LockObservationConvention {
      Terse(LockObservation observation) {
        super(observation);
      }

      @Override
      public KeyValues getHighCardinalityKeyValues(LockContext context) {
        return KeyValues.empty();
      }
    }

    ObservedLocks own =
        new ObservedLocks(
            client,
            registry,
            new Terse(LockObservation.ACQUIRE),
            new Terse(LockObservation.HOLD) {
              @Override
              public String getName() {
                return "locked";
              }
            });
    own.lock("secret").acquire().close();
    assertEquals(0, ended.take().getHighCardinalityKeyValues().stream().count());
    assertEquals("locked", ended.take().getName());
  }

  @Test
  void aRegistryThatMakesMetersOfObservationsCountsNothingTwice() throws Exception {
    PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
    try (LockMetrics metrics = new LockMetrics(client)) {
      metrics.bindTo(meters);
      locks.lock("a").acquire().close();
      var released = meters.get("interlock.hold").tag("outcome", "released").timer();
      Eventually.holds("the release is measured", () -> released.count() > 0);
      assertEquals(1, released.count());
      // Another listener measures it.
      Eventually.holds(
          "the hold is observed", () -> meters.find("interlock.lock.hold").timer() != null);
      assertEquals(1, meters.get("interlock.lock.hold").timer().count());
      String scraped = meters.scrape();
      assertTrue(scraped.contains("interlock_hold_seconds_count{"), scraped);
      assertTrue(scraped.contains("interlock_lock_hold_seconds_count{"), scraped);
    }
  }

  @Test
  void aRegistryThatDoesNothingChangesNothing() throws Exception {
    ObservedLocks quiet = new ObservedLocks(client, ObservationRegistry.NOOP);
    try (Lease lease = quiet.lock("a").acquire()) {
      assertEquals(1, lease.callWhileHeld(() -> 1));
    }
    assertTrue(ended.isEmpty());
  }

  @Test
  void aHandlerThatFailsLeavesTheLockFree() throws Exception {
    registry
        .observationConfig()
        .observationHandler(
            new ObservationHandler<LockContext>() {
              @Override
              public void onStart(LockContext context) {
                if (context.observation() == LockObservation.HOLD) {
                  throw new IllegalStateException("a handler that fails");
                }
              }

              @Override
              public boolean supportsContext(Observation.Context context) {
                return context instanceof LockContext;
              }
            });
    assertThrows(IllegalStateException.class, () -> locks.lock("a").acquire());
    other.lock("a").acquire().close();
    CompletableFuture<Lease> failed = locks.lock("a").acquireAsync();
    assertTrue(failed.handle((lease, failure) -> failure != null).get());
    other.lock("a").acquire().close();
  }
}
