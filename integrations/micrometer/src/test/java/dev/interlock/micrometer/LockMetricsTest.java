package dev.interlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.testbed.Eventually;
import dev.interlock.testing.ManualClock;
import dev.interlock.testing.TestStore;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Meters agree exactly with the operations of a client. */
@Timeout(120)
class LockMetricsTest {

  private static final Duration TTL = LockOptions.defaults().ttl();

  private final ManualClock clock = new ManualClock();
  @AutoClose private final TestStore store = new TestStore(clock);
  @AutoClose private final LockClient client = store.open();
  @AutoClose private final LockClient other = store.open();
  @AutoClose private final Recorded recorded = new Recorded(client);
  private final BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();

  private static void await(Callable<Boolean> condition) throws Exception {
    Eventually.holds("the operations are measured", condition);
  }

  private void awaitEvent(Class<? extends LockEvent> kind) throws InterruptedException {
    while (!kind.isInstance(events.take())) {
      // Skips events of other kinds.
    }
  }

  private void advance(int seconds) {
    clock.advance(Duration.ofSeconds(seconds));
  }

  @Test
  void holdsAndWaitsAreTimedByTheClientsClock() throws Exception {
    try (LockClient ours = open("memory:timed");
        LockClient theirs = open("memory:timed");
        Recorded timed = new Recorded(ours)) {
      for (int i = 0; i < 3; i++) {
        try (Lease lease = ours.lock("a").acquire()) {
          advance(2);
          assertTrue(lease.isHeld());
        }
      }
      Lease blocking = theirs.lock("b").acquire();
      CompletableFuture<Lease> waits = ours.lock("b").acquireAsync();
      await(() -> timed.gauge("interlock.waiting", "exclusive") == 1);
      advance(5);
      assertEquals(5, timed.gauge("interlock.waiting.longest", "exclusive"));
      blocking.close();
      waits.get().close();
      timed.assertExactly(
          Map.of(
              "interlock.acquire acquired", "4 in 5.0 s",
              "interlock.contended", 1.0,
              "interlock.hold released", "4 in 6.0 s"));
    }
  }

  private LockClient open(String uri) {
    return ClientsWithTimeSource.open(uri, LockOptions.defaults(), clock);
  }

  /**
   * Advances the clock in steps: a waiter that was not notified asks again after its poll interval.
   */
  private void advanceUntil(CompletableFuture<?> done) throws InterruptedException {
    while (!done.isDone()) {
      clock.advance(Duration.ofMillis(10));
      Thread.sleep(1);
    }
  }

  @Test
  void everyEndOfAnAcquisitionCountsOnce() throws Exception {
    // The names differ, because an acquisition that waits behind another one of its client sends no
    // request.
    MultiLease theirs = other.multiLock(List.of("a", "b", "c")).acquire();
    assertEquals(Optional.empty(), client.lock("a").tryAcquire());
    client.onEvent(events::add);
    CompletableFuture<Lease> cancelled = client.lock("a").acquireAsync();
    awaitEvent(LockEvent.Waiting.class);
    cancelled.cancel(true);
    awaitEvent(LockEvent.NotAcquired.class);

    CompletableFuture<Throwable> interrupted = new CompletableFuture<>();
    Thread waiter =
        new Thread(
            () -> {
              try {
                interrupted.complete(new AssertionError(client.lock("b").acquire()));
              } catch (InterruptedException e) {
                interrupted.complete(e);
              }
            });
    waiter.start();
    awaitEvent(LockEvent.Waiting.class);
    waiter.interrupt();
    assertEquals(InterruptedException.class, interrupted.get().getClass());

    CompletableFuture<Lease> timedOut =
        client.lock("c", options -> options.waitTimeout(Duration.ofSeconds(4))).acquireAsync();
    awaitEvent(LockEvent.Waiting.class);
    advance(4);
    Throwable end = assertThrows(ExecutionException.class, timedOut::get).getCause();
    assertInstanceOf(LockTimeoutException.class, end);
    theirs.close();

    store.goDown();
    assertThrows(LockUnavailableException.class, () -> client.lock("d").tryAcquire());
    CompletableFuture<Lease> retried = client.lock("e").acquireAsync();
    awaitEvent(LockEvent.AttemptFailed.class);
    assertEquals(1, recorded.gauge("interlock.waiting", "exclusive"), "it waits for the store");
    store.recover();
    advanceUntil(retried);
    retried.get().close();
    recorded.settle();

    assertEquals(2, recorded.timed("interlock.acquire", "outcome", "timed_out"));
    assertEquals(1, recorded.timed("interlock.acquire", "outcome", "cancelled"));
    assertEquals(1, recorded.timed("interlock.acquire", "outcome", "interrupted"));
    assertEquals(1, recorded.timed("interlock.acquire", "outcome", "failed"));
    assertEquals(1, recorded.timed("interlock.acquire", "outcome", "acquired"));
    assertEquals(3, recorded.counted("interlock.contended"));
    assertTrue(recorded.counted("interlock.retries") >= 1);
    assertEquals(0, recorded.gauge("interlock.waiting", "exclusive"));
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
  }

  @Test
  void aHandoffIsAnOutcomeOfBothSides() throws Exception {
    Lease first = client.lock("a").acquire();
    CompletableFuture<Lease> second = client.lock("a").acquireAsync();
    assertEquals(1, recorded.gauge("interlock.waiting", "exclusive"));
    advance(3);
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
    second.get().close();
    recorded.assertExactly(
        Map.of(
            "interlock.acquire acquired", "1 in 0.0 s",
            "interlock.acquire handed_off", "1 in 3.0 s",
            "interlock.contended", 1.0,
            "interlock.hold handed_off", "1 in 3.0 s",
            "interlock.hold released", "1 in 0.0 s"));
  }

  @Test
  void renewalsTheirFailuresAndLossesCount() throws Exception {
    client.onEvent(events::add);
    Lease expires = client.lock("a").acquire();
    for (int i = 0; i < 4; i++) {
      clock.advance(TTL.dividedBy(3));
      awaitEvent(LockEvent.Renewed.class);
    }
    store.goDown();
    assertThrows(Exception.class, expires::renew);
    awaitEvent(LockEvent.AtRisk.class);
    store.fallSilent();
    clock.advance(TTL);
    assertEquals(LossReason.EXPIRED, expires.onLoss().get().reason());
    store.recover();
    Lease taken = client.lock("b").acquire();
    assertTrue(store.takeAway("b"));
    assertThrows(Exception.class, taken::renew);
    Lease maxHold = client.lock("c", o -> o.maxHold(Duration.ofSeconds(7))).acquire();
    advance(7);
    assertEquals(LossReason.MAX_HOLD, maxHold.onLoss().get().reason());
    taken.close();
    recorded.settle();

    assertEquals(4, recorded.counted("interlock.renewals", "outcome", "confirmed"));
    assertTrue(recorded.counted("interlock.renewals", "outcome", "failed") >= 1);
    assertEquals(1, recorded.counted("interlock.at.risk"));
    assertEquals(1, recorded.counted("interlock.lost", "reason", "expired"));
    assertEquals(1, recorded.counted("interlock.lost", "reason", "taken"));
    assertEquals(1, recorded.counted("interlock.lost", "reason", "max_hold"));
    assertEquals(3, recorded.timed("interlock.hold", "outcome", "lost"));
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
  }

  @Test
  void theGaugesFollowEveryWayInWhichALeaseEnds() throws Exception {
    Lease released = client.lock("a").acquire();
    Lease kept = client.lock("b", o -> o.minHold(Duration.ofSeconds(9))).acquire();
    advance(1);
    MultiLease set = client.multiLock(List.of("c", "d")).acquire();
    Lease taken = client.lock("e").acquire();
    assertEquals(5, recorded.gauge("interlock.held", "exclusive"));
    assertEquals(1, recorded.gauge("interlock.held.longest", "exclusive"));
    released.close();
    assertEquals(4, recorded.gauge("interlock.held", "exclusive"));
    assertEquals(ReleaseOutcome.DEFERRED, kept.release());
    assertEquals(3, recorded.gauge("interlock.held", "exclusive"), "the store keeps it");
    set.close();
    assertEquals(1, recorded.gauge("interlock.held", "exclusive"));
    store.takeAway("e");
    assertThrows(Exception.class, taken::renew);
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
    assertEquals(0, recorded.gauge("interlock.held.longest", "exclusive"));

    Lease lost = client.lock("f").acquire();
    Lease alsoLost = client.lock("g").acquire();
    client.close();
    assertFalse(lost.isHeld() || alsoLost.isHeld());
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
    await(() -> recorded.counted("interlock.lost", "reason", "closed") == 2);
  }

  @Test
  void aLeaseThatTheProgramAbandonsIsCounted() throws Exception {
    WeakReference<Lease> abandoned = new WeakReference<>(client.lock("a").acquire());
    assertEquals(1, recorded.gauge("interlock.held", "exclusive"));
    advance(2);
    Lease witness = client.lock("b").acquire();
    witness.onEvent(events::add);
    Eventually.holds(
        "the lease is unreachable",
        () -> {
          System.gc();
          return abandoned.get() == null;
        });
    // The check of the abandoned lease was due before the renewal of the witness.
    clock.advance(TTL.dividedBy(3));
    awaitEvent(LockEvent.Renewed.class);
    clock.advance(TTL.dividedBy(3));
    awaitEvent(LockEvent.Renewed.class);
    clock.advance(TTL.dividedBy(3));
    assertEquals(1, recorded.gauge("interlock.held", "exclusive"), "the witness alone");
    await(() -> recorded.counted("interlock.lost", "reason", "abandoned") == 1);
    witness.close();
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
  }

  @Test
  void everyKindHasMetersOfItsOwn() throws Exception {
    try (LockClient memory = open("memory:kinds");
        Recorded kinds = new Recorded(memory)) {
      Lease one = memory.readWriteLock("a").readLock().acquire();
      Lease two = memory.readWriteLock("a").readLock().acquire();
      CompletableFuture<Lease> writer = memory.readWriteLock("a").writeLock().acquireAsync();
      Lease permit = memory.semaphore("b", 1).acquire();
      CompletableFuture<Lease> permits = memory.semaphore("b", 1).acquireAsync();
      await(() -> kinds.gauge("interlock.waiting", "semaphore") == 1);
      await(() -> kinds.gauge("interlock.waiting", "read_write") == 1);
      assertEquals(2, kinds.gauge("interlock.held", "read_write"));
      assertEquals(1, kinds.gauge("interlock.held", "semaphore"));
      assertEquals(0, kinds.gauge("interlock.held", "exclusive"));
      one.close();
      two.close();
      writer.get().close();
      permit.close();
      permits.get().close();
      kinds.settle();
      assertEquals(3, grants(kinds, "read_write"));
      assertEquals(2, grants(kinds, "semaphore"));
      assertEquals(0, kinds.gauge("interlock.waiting", "semaphore"));
      assertEquals(0, kinds.gauge("interlock.held", "read_write"));
    }
  }

  private static long grants(Recorded recorded, String kind) {
    return recorded.timed("interlock.acquire", "kind", kind, "outcome", "acquired")
        + recorded.timed("interlock.acquire", "kind", kind, "outcome", "handed_off");
  }

  @Test
  void aHundredThousandNamesAddNoMeters() throws Exception {
    try (LockClient memory = LockClient.open("memory:names");
        Recorded names = new Recorded(memory)) {
      memory.lock("first").acquire().close();
      names.settle();
      int meters = names.registry.getMeters().size();
      for (int i = 0; i < 100_000; i++) {
        memory.lock("orders/" + i).acquire().close();
      }
      names.settle();
      assertEquals(meters, names.registry.getMeters().size());
      assertEquals(100_001, names.timed("interlock.hold", "outcome", "released"));
    }
  }

  @Test
  void groupsAreLimitedAndNamesOfAFailingFunctionCountAsOther() throws Exception {
    MeterRegistry registry = new SimpleMeterRegistry();
    LockGroups groups = LockGroups.of(name -> name.substring(0, name.indexOf('/')), 2);
    try (LockMetrics metrics = new LockMetrics(other, "groups", groups)) {
      metrics.bindTo(registry);
      for (String name : List.of("a/1", "b/1", "c/1", "a/2", "nothing", " /1", "other/1")) {
        other.lock(name).acquire().close();
      }
      await(() -> released(registry, "other") == 4);
      assertEquals(2, released(registry, "a"));
      assertEquals(1, released(registry, "b"));
      assertEquals(
          Set.of("a", "b", "other"),
          registry.getMeters().stream()
              .flatMap(meter -> Optional.ofNullable(meter.getId().getTag("lock.group")).stream())
              .collect(Collectors.toCollection(TreeSet::new)));
    }
    assertThrows(IllegalArgumentException.class, () -> LockGroups.of(name -> name, 0));
    assertThrows(IllegalArgumentException.class, () -> LockGroups.of(name -> name, 1001));
  }

  private static long released(MeterRegistry registry, String group) {
    var timer =
        registry.find("interlock.hold").tags("lock.group", group, "outcome", "released").timer();
    return timer == null ? 0 : timer.count();
  }

  @Test
  void theMetersOfExclusiveLocksBeginWithZero() {
    MeterRegistry registry = new SimpleMeterRegistry();
    try (LockMetrics metrics = new LockMetrics(client)) {
      metrics.bindTo(registry);
      for (LossReason reason : LossReason.values()) {
        String value = reason.name().toLowerCase(Locale.ROOT);
        assertEquals(
            0, registry.get("interlock.lost").tags("reason", value).counter().count(), value);
      }
      assertEquals(
          Set.of(LockMeter.values()).stream().map(LockMeter::getName).collect(Collectors.toSet()),
          registry.getMeters().stream()
              .map(meter -> meter.getId().getName())
              .collect(Collectors.toSet()));
    }
  }

  @Test
  void severalClientsNeedNamesAndSeveralRegistriesGetTheSame() throws Exception {
    MeterRegistry one = new SimpleMeterRegistry();
    MeterRegistry two = new CompositeMeterRegistry().add(new SimpleMeterRegistry());
    try (LockMetrics first = new LockMetrics(client);
        LockMetrics unnamed = new LockMetrics(other);
        LockMetrics named = new LockMetrics(other, "reports")) {
      first.bindTo(one);
      first.bindTo(two);
      String problem =
          assertThrows(IllegalStateException.class, () -> unnamed.bindTo(one)).getMessage();
      assertTrue(problem.contains("give each client a name"), problem);
      assertThrows(IllegalStateException.class, () -> first.bindTo(one));
      named.bindTo(one);
      client.lock("a").acquire().close();
      for (MeterRegistry registry : List.of(one, two)) {
        await(
            () ->
                registry
                        .get("interlock.hold")
                        .tags("client", "default", "outcome", "released")
                        .timer()
                        .count()
                    == 1);
      }
      Lease lease = other.lock("a").acquire();
      assertEquals(
          1,
          one.get("interlock.held").tags("client", "reports", "kind", "exclusive").gauge().value());
      assertEquals(
          0,
          one.get("interlock.held").tags("client", "default", "kind", "exclusive").gauge().value());
      lease.close();
      first.close();
      assertEquals(List.of(), two.getMeters());
      assertTrue(clientsOf(one).equals(Set.of("reports")), "" + clientsOf(one));
      unnamed.bindTo(one);
      assertEquals(Set.of("default", "reports"), clientsOf(one));
    }
    assertEquals(List.of(), one.getMeters());
    assertThrows(IllegalArgumentException.class, () -> new LockMetrics(client, " "));
  }

  private static Set<String> clientsOf(MeterRegistry registry) {
    return registry.getMeters().stream()
        .map(Meter::getId)
        .map(id -> id.getTag("client"))
        .collect(Collectors.toSet());
  }

  @Test
  void aClientThatIsClosedIsRefusedAndLeavesNoMeters() {
    client.close();
    MeterRegistry registry = new SimpleMeterRegistry();
    LockMetrics metrics = new LockMetrics(client);
    assertThrows(IllegalStateException.class, () -> metrics.bindTo(registry));
    assertEquals(List.of(), registry.getMeters());
    assertFalse(recorded.registry.getMeters().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(strings = {"interlock.waiting", "interlock.lost"})
  void aRegistryThatRefusesAMeterIsLeftAsItWas(String refused) {
    MeterRegistry registry = new SimpleMeterRegistry();
    registry
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public Meter.Id map(Meter.Id id) {
                if (id.getName().equals(refused)) {
                  throw new IllegalArgumentException("the program has a meter of this name");
                }
                return id;
              }
            });
    LockMetrics metrics = new LockMetrics(client);
    assertThrows(IllegalArgumentException.class, () -> metrics.bindTo(registry));
    assertEquals(List.of(), registry.getMeters());
    assertThrows(IllegalArgumentException.class, () -> metrics.bindTo(registry));
  }
}
