package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.process.WrongSystemClock;
import dev.interlock.tck.run.LateError;
import dev.interlock.tck.run.NotApplicableException;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/** LEASE: TTLs, validity and renewal. */
public abstract class LeaseRules extends RuleTest {

  // --- LEASE-01, LEASE-02 ---

  @Rule("LEASE-01")
  void aLeaseWithoutRenewalEndsAtItsTtlHereAndOnTheStore() throws Exception {
    // A lease on a session ends earlier if the store is silent for a while.
    assertTrue(
        anyOfThree(isLast -> lastsForHalfItsTtlAndEnds()),
        "the store freed the lock before half of its TTL had passed");
  }

  private boolean lastsForHalfItsTtlAndEnds() throws Exception {
    String name = newName();
    long before = System.nanoTime();
    Lease lease = acquireNow(client(unrenewed()).lock(name));
    Duration ttl = lease.effectiveTtl();
    assertTrue(
        ttl.compareTo(unrenewed().ttl()) >= 0,
        () -> "the effective TTL is " + text(ttl) + ", shorter than the requested TTL");
    long validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
    DistributedLock other = client(unrenewed()).lock(name);
    Lease next =
        acquireWithin(ttl.plus(bound()), other, "the store did not free the lock after the TTL");
    long acquired = System.nanoTime();
    assertTrue(
        acquired - validUntil >= 0, "another client acquired the lock while the lease was valid");
    assertFalse(lease.isHeld(), "the lease is still held after another client acquired the lock");
    assertEquals(
        Duration.ZERO,
        lease.remainingValidity(),
        "the validity that is left after the end of the lease");
    assertThrows(LeaseLostException.class, lease::ensureHeld);
    next.release();
    return acquired - before >= unrenewed().ttl().toNanos() / 2;
  }

  @Rule({"LEASE-01", "FENCE-01"})
  void theClocksOfTheClientsMachinesDoNotMatter() throws Exception {
    LockClient ahead = client(unrenewed(), new ShiftedClock(() -> Duration.ofHours(1)));
    LockClient behind = client(unrenewed(), new ShiftedClock(() -> Duration.ofHours(-1)));
    for (LockClient first : List.of(ahead, behind)) {
      String name = newName();
      Lease lease = acquireNow(first.lock(name));
      long validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
      Lease next =
          acquireAtOnce(
              maxLifetime(lease),
              (first == ahead ? behind : ahead).lock(name),
              "the store did not free the lock after the TTL for a client with another clock");
      assertTrue(
          System.nanoTime() - validUntil >= 0,
          "a client with another clock acquired the lock while the lease was valid");
      assertHigherToken(
          next, lease, "a client with another clock got a lower token than its predecessor");
      next.release();
    }
  }

  /** Returns the time of day by the system clock, the latest of three ways to read it. */
  static final class ReadSystemClock implements RemoteTask {
    @Override
    @SuppressWarnings("JavaUtilDate") // backends may use it
    public String run(Worker worker, List<String> arguments) {
      long later = Math.max(Instant.now().toEpochMilli(), new Date().getTime());
      return Long.toString(Math.max(System.currentTimeMillis(), later));
    }
  }

  /** Returns whether a kept lease is held, and its token or 0. */
  static final class Ask implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      Lease lease = worker.lease(arguments.get(0));
      boolean fencing = worker.client().backend().has(Capability.FENCING);
      return lease.isHeld() + " " + (fencing ? lease.fencingToken() : 0);
    }
  }

  @Rule({"LEASE-01", "LEASE-02", "FENCE-01", "FAIR-01", "ADMIN-01"})
  void theSystemClocksOfTheClientsMachinesDoNotMatter() throws Exception {
    requireOtherProcesses();
    assumeTestable(
        ModuleLayer.boot().findModule("java.instrument").isPresent(),
        "this Java has no module java.instrument, with which the kit changes a system clock");
    // To this process, all others are ahead.
    Duration ahead = Duration.ofHours(-2);
    OtherProcess other =
        anyProcess(kit().server().uri(), unrenewed(), false, WrongSystemClock.argument(ahead));
    other.call(OTHER_JVM_TIMEOUT, WarmUp.class, newName());
    long clock = Long.parseLong(other.call(bound().multipliedBy(2), ReadSystemClock.class));
    assumeTestable(
        clock - System.currentTimeMillis() < ahead.dividedBy(2).toMillis(),
        "the system clock of another JVM could not be changed");
    if (has(Capability.FIFO)) {
      assertQueuedLast(other);
    }
    LockClient client = client(expiring());
    Map<String, Kind> theirs = new LinkedHashMap<>();
    Duration ttl = Duration.ZERO;
    for (Kind kind : kinds()) {
      String name = newName();
      ttl = acquireIn(other, kind, name);
      theirs.put(name, kind.whole());
    }
    for (Map.Entry<String, Kind> each : theirs.entrySet()) {
      Lease next =
          acquireAtOnce(
              ttl.plus(bound()),
              each.getValue().of(client, each.getKey()),
              "the store did not free the lock of a process with another system clock after the TTL");
      assertFalse(
          isHeldBy(other, each.getKey()),
          "another client acquired the lock of a process with another system clock while its lease"
              + " was valid");
      assertTrue(
          !has(Capability.FENCING) || next.fencingToken() > tokenOf(other, each.getKey()),
          "the successor of a process with another system clock has no higher token");
      next.release();
    }
    assertTimesShown(other);
    Map<Lease, Kind> ours = new LinkedHashMap<>();
    for (Kind kind : kinds()) {
      ours.put(acquireNow(kind.of(client, newName())), kind.whole());
    }
    for (Map.Entry<Lease, Kind> each : ours.entrySet()) {
      Lease lease = each.getKey();
      other.order(Kind.Acquire.class, lease.name(), each.getValue().name());
      try {
        String unused = other.answer(maxLifetime(lease).plus(bound()));
      } catch (IOException e) {
        fail("a process with another system clock did not acquire the lock after the TTL", e);
      }
      assertFalse(
          lease.isHeld(),
          "a process with another system clock acquired the lock of a lease that was valid");
      assertTrue(
          !has(Capability.FENCING) || tokenOf(other, lease.name()) > lease.fencingToken(),
          "a process with another system clock got no higher token than its predecessor");
    }
    assertTrue(
        anyOfThree(isLast -> keepsWhatItRenews(other)), // a renewal may come too late
        "a lease of a process with another system clock was lost although it was renewed");
  }

  /** Checks that a process with another system clock keeps a place behind an earlier waiter. */
  private void assertQueuedLast(OtherProcess other) throws Exception {
    LockClient earlier = labelled("the earlier waiter");
    Lease first = acquireNow(client().lock(newName()));
    Future<Lease> waiter = earlier.lock(first.name()).acquireAsync();
    awaitQueued(earlier, first.name(), 1);
    other.order(Kind.Acquire.class, first.name(), Kind.LOCK.name());
    awaitQueued(earlier, first.name(), 2);
    assertEquals(
        "the earlier waiter",
        answer(() -> earlier.admin().inspect(first.name())).waiters().get(0),
        "a process with another system clock overtook an earlier waiter");
    first.release();
    within(waiter, "a waiter was not served").release();
    String unused = other.answer(bound().multipliedBy(2));
  }

  /** Returns the time of the grant and the remaining time that are shown of a lock, if any. */
  static final class Inspect implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      return timesShown(worker.client(), arguments.get(0));
    }
  }

  private static String timesShown(LockClient client, String name) {
    LockState state = client.admin().inspect(name);
    return state.heldSince().map(Instant::toString).orElse("")
        + " "
        + state.remaining().map(Duration::toString).orElse("");
  }

  /** Checks the times that a process with another system clock shows, and those of its locks. */
  private void assertTimesShown(OtherProcess other) throws Exception {
    LockClient observer = client();
    Duration limit = bound().multipliedBy(2);
    long start = System.nanoTime();
    Lease ours = acquireNow(observer.lock(newName()));
    String theirs = newName();
    String ttl = ours.effectiveTtl().toString();
    String unused = other.call(limit, Kind.Acquire.class, theirs, Kind.LOCK.name(), ttl);
    Duration tolerance = since(start).plus(info().granularity()).plusMillis(100);
    List<String> shown = new ArrayList<>();
    for (String name : List.of(ours.name(), theirs)) {
      shown.add(answer(() -> timesShown(observer, name)));
      shown.add(other.call(limit, Inspect.class, name));
    }
    String first = shown.get(0).split(" ", 2)[0];
    for (String times : shown) {
      String[] words = times.split(" ", 2);
      assertTrue(
          words[0].equals(first)
              || Duration.between(Instant.parse(first), Instant.parse(words[0]))
                      .abs()
                      .compareTo(tolerance)
                  <= 0,
          () -> "with another system clock, other times of the grants are shown: " + shown);
      assertTrue(
          words[1].isEmpty() || Duration.parse(words[1]).compareTo(maxLifetime(ours)) <= 0,
          () -> "with another system clock, more time is left than the TTL " + ttl + ": " + shown);
    }
    ours.release();
  }

  private boolean keepsWhatItRenews(OtherProcess other) throws Exception {
    Duration ttl = timing().renewedTtl();
    LockClient client = client();
    Map<String, CompletableFuture<Optional<Lease>>> attempts = new LinkedHashMap<>();
    for (Kind kind : kinds()) {
      String name = newName();
      String unused =
          other.call(
              bound().multipliedBy(2), Kind.Acquire.class, name, kind.name(), ttl.toString());
      attempts.put(name, kind.whole().of(client, name).tryAcquireAsync(ttl.multipliedBy(2)));
    }
    boolean kept = true;
    for (Map.Entry<String, CompletableFuture<Optional<Lease>>> each : attempts.entrySet()) {
      Optional<Lease> taken =
          emptyOn(
                  LockUnavailableException.class,
                  () ->
                      within(
                          ttl.multipliedBy(2).plus(bound()),
                          each.getValue(),
                          "a timed attempt did not end"))
              .flatMap(lease -> lease);
      boolean isHeld = isHeldBy(other, each.getKey());
      assertTrue(
          taken.isEmpty() || !isHeld,
          "another client acquired a lock that a process with another system clock renews");
      kept &= isHeld;
    }
    return kept;
  }

  private boolean isHeldBy(OtherProcess process, String name) throws Exception {
    return Boolean.parseBoolean(ask(process, name)[0]);
  }

  private long tokenOf(OtherProcess process, String name) throws Exception {
    return Long.parseLong(ask(process, name)[1]);
  }

  private String[] ask(OtherProcess process, String name) throws Exception {
    return process.call(bound().multipliedBy(2), Ask.class, name).split(" ", 2);
  }

  @Rule("LEASE-01")
  void theTtlOfALockCountsInsteadOfItsClients() throws Exception {
    LockClient ofShortTtl = client(unrenewed());
    LockClient other = client();
    Map<Lease, Acquirable<Lease>> lasting =
        acquireAll(ofShortTtl, renewed(timing().longTtl()), other);
    Lease usual = acquireNow(ofShortTtl.lock(newName()));
    Map<Lease, Acquirable<Lease>> ending =
        acquireAll(client(), options -> options.ttl(timing().ttl()).autoRenew(false), other);
    ending.put(usual, other.lock(usual.name()));
    for (Map.Entry<Lease, Acquirable<Lease>> each : ending.entrySet()) {
      Lease lease = each.getKey();
      Lease next =
          acquireWithin(
              maxLifetime(lease),
              each.getValue(),
              lease == usual
                  ? "the store did not free the lock after the TTL"
                  : "the store did not free a lock after its own TTL, shorter than its client's,");
      assertFalse(lease.isHeld(), "the lease is still held after another client acquired the lock");
      next.release();
    }
    lasting.forEach(
        (lease, whole) -> {
          assertHeld(lease, "a lease ended after the TTL of its client, before its own");
          assertRefused(
              whole, "the store freed a lock after the TTL of its client, before its own");
          lease.release();
        });
  }

  /**
   * Acquires each kind of lock with options of its own, at once and by waiting, and renews it.
   *
   * @return the leases, each with what excludes it
   */
  private Map<Lease, Acquirable<Lease>> acquireAll(
      LockClient client, Consumer<LockOptions.Builder> change, LockClient other) throws Exception {
    Map<Lease, Acquirable<Lease>> leases = new LinkedHashMap<>();
    for (Kind kind : kinds()) {
      for (boolean waits : List.of(false, true)) {
        String name = newName();
        Acquirable<Lease> whole = kind.whole().of(other, name);
        Acquirable<Lease> lock = kind.of(client, name, change);
        Lease lease;
        if (waits) {
          Lease blocker = acquireNow(whole);
          CompletableFuture<Lease> waiter = lock.acquireAsync();
          awaitQueued(other, name, 1);
          blocker.release();
          lease = within(waiter, "a waiter was not served");
        } else {
          lease = acquireNow(lock);
        }
        try {
          renewIfOffered(lease, bound());
        } catch (LeaseLostException e) {
          // after a stall of the machine, or because of the fault that the test looks for
        }
        leases.put(lease, whole);
      }
    }
    return leases;
  }

  @Rule("LEASE-01")
  void aTtlMayBeAsLongAsAYear() throws Exception {
    // In milliseconds, 25 days need more than 31 bits. In 32 bits, the second is a short TTL.
    List<Duration> ttls =
        List.of(
            Duration.ofDays(25),
            Duration.ofMillis(1L << 32).plus(timing().ttl()),
            Duration.ofDays(365));
    LockClient client = client(unrenewed());
    LockClient other = client();
    Map<Lease, Acquirable<Lease>> contenders = new LinkedHashMap<>();
    for (Kind kind : kinds()) {
      for (Duration ttl : ttls) {
        String name = newName();
        Lease lease = acquireForLong(kind.of(client, name, options -> options.ttl(ttl)), ttl);
        contenders.put(lease, kind.whole().of(other, name));
        assertTrue(
            lease.effectiveTtl().compareTo(ttl) >= 0,
            () ->
                "the effective TTL is " + text(lease.effectiveTtl()) + " instead of " + text(ttl));
        assertRenewed(lease, "a lease with a long TTL was lost");
        assertLastsOnTheStore(lease, other);
      }
    }
    Lease usual = acquireNow(client.lock(newName()));
    assertFree(
        maxLifetime(usual),
        other.lock(usual.name()),
        "the store did not free the lock after the TTL");
    for (Map.Entry<Lease, Acquirable<Lease>> each : contenders.entrySet()) {
      Lease lease = each.getKey();
      assertHeld(lease, "a lease with a long TTL was lost");
      assertLastsOnTheStore(lease, other);
      assertRefused(
          each.getValue(),
          "another client acquired a lock whose TTL is " + text(lease.effectiveTtl()));
      acquireAfter(
              assertReleased(lease, "the store had freed a lock with a long TTL"), each.getValue())
          .release();
    }
  }

  private Lease acquireForLong(Acquirable<Lease> lock, Duration ttl) {
    try {
      return acquireNow(lock);
    } catch (LockConfigurationException e) {
      assertTrue(
          String.valueOf(e.getMessage()).contains("TTL"),
          () -> "a TTL of " + text(ttl) + " is refused with a message that does not name it: " + e);
      throw new NotApplicableException(info().name() + " refuses such a TTL: " + e.getMessage());
    }
  }

  /** Checks that the store shows the lock for as long as its lease is valid, if it shows that. */
  private void assertLastsOnTheStore(Lease lease, LockClient observer) {
    Duration valid = lease.remainingValidity();
    LockState state = answer(() -> observer.admin().inspect(lease.name()));
    assertTrue(
        state.isHeld(), "a lock is shown as free whose TTL is " + text(lease.effectiveTtl()));
    Duration shown = state.remaining().orElse(valid);
    assertTrue(
        shown.plus(bound()).compareTo(valid) >= 0,
        () ->
            "the time left was shown as %s, but the lease is valid for %s"
                .formatted(text(shown), text(valid)));
  }

  @Rule({"LEASE-01", "LEASE-02"})
  @ResourceLock(STORE_ENTRIES)
  void eachGrantOfABatchIsRenewedByItsOwnTtl() throws Exception {
    DirectBackend backend = directBackend();
    Duration longTtl = timing().longTtl();
    Duration shortTtl = longTtl.multipliedBy(3).dividedBy(5);
    Duration briefTtl = timing().renewedTtl();
    int largest = backend.largestBatch();
    List<Grant> batch = acquirePairs(backend, largest - 1, briefTtl, longTtl);
    batch.addAll(
        backend.acquireAll(
            largest - batch.size(), newName(), i -> i % 3 == 0 ? shortTtl : longTtl));
    Grant gone = batch.get(batch.size() / 2);
    backend.release(gone);
    sleep(info().granularity().plusSeconds(1)); // a store that renews nothing shows less time
    long before = System.nanoTime();
    List<Renewal> answers = backend.renewAll(batch);
    List<Grant> kept = new ArrayList<>();
    for (int i = 0; i < batch.size(); i++) {
      Grant grant = batch.get(i);
      boolean mayHaveEnded = grant.equals(gone) || grant.claim().ttl().equals(briefTtl);
      if (!(mayHaveEnded && answers.get(i) instanceof Renewal.Lost)) {
        backend.assertKeptForItsTtl(grant, before);
        kept.add(grant);
      }
    }
    sleep(briefTtl.plus(info().granularity()));
    kept.removeIf(grant -> grant.claim().ttl().equals(briefTtl));
    DirectBackend.assertNoneLost(
        backend.renewAll(kept), "of grants that are renewed together, one ended before its TTL");
  }

  /** Acquires pairs of shares of one name with two TTLs, the one or the other first. */
  private List<Grant> acquirePairs(DirectBackend backend, int most, Duration one, Duration other)
      throws InterruptedException {
    List<Share> shares = new ArrayList<>();
    if (has(Capability.READ_WRITE)) {
      shares.add(Share.READ);
    }
    if (has(Capability.SEMAPHORE)) {
      shares.add(Share.ofSemaphore(1, 2));
    }
    List<Grant> grants = new ArrayList<>();
    for (Share share : shares) {
      for (int i = 0; i < 8 && grants.size() + 2 <= most; i++) {
        String name = newName();
        grants.add(backend.acquire(name, share, i % 2 == 0 ? one : other));
        grants.add(backend.acquire(name, share, i % 2 == 0 ? other : one));
      }
    }
    return grants;
  }

  @Rule({"LEASE-02", "LOSS-01"})
  @ResourceLock(STORE_ENTRIES)
  void aBatchIsAnsweredForEachOfItsGrants() throws Exception {
    DirectBackend backend = directBackend();
    int largest = backend.largestBatch();
    Duration ttl = timing().longTtl();
    List<Grant> batch = acquirePairs(backend, largest, ttl, ttl);
    batch.addAll(backend.acquireAll(largest - batch.size(), newName(), i -> ttl));
    Random random = new Random(batch.size());
    Set<Grant> gone = new HashSet<>();
    for (int lost : List.of(0, 1, batch.size() / 3, batch.size() / 3)) {
      Collections.shuffle(batch, random);
      for (Grant grant : batch.subList(0, lost)) {
        if (gone.add(grant)) {
          backend.release(grant);
        }
      }
      Collections.shuffle(batch, random);
      List<Renewal> answers = backend.renewAll(batch);
      for (int i = 0; i < batch.size(); i++) {
        int index = i;
        assertEquals(
            gone.contains(batch.get(i)),
            answers.get(i) instanceof Renewal.Lost,
            () ->
                "whether grant %d of a batch of %d, of which %d are gone, is answered as lost"
                    .formatted(index, batch.size(), gone.size()));
      }
    }
  }

  @Rule("LEASE-02")
  void aRenewedLeaseOutlivesItsTtlManyTimes() throws Exception {
    assertTrue(anyOfThree(this::outlivesItsTtl)); // on a busy machine renewals may come too late
  }

  /** {@return false if no renewal was confirmed in time, and the lease said so} */
  private boolean outlivesItsTtl(boolean lastAttempt) throws Exception {
    String name = newName();
    LockClient holder = client(renewed());
    Queue<LockEvent> events = new ConcurrentLinkedQueue<>();
    Lease lease = acquireNow(holder.lock(name));
    lease.onEvent(events::add);
    DistributedLock other = client().lock(name);
    Duration several = lease.effectiveTtl().multipliedBy(2);
    Optional<Lease> taken = answer(() -> other.tryAcquire(several));
    boolean stillHeld = lease.isHeld();
    if (!stillHeld
        && !lastAttempt
        && within(lease.onLoss(), "the loss was not reported").reason() == LossReason.EXPIRED) {
      taken.ifPresent(Lease::release);
      return false;
    }
    assertTrue(
        taken.isEmpty(), () -> "another client acquired the lock of a renewed lease: " + events);
    assertTrue(stillHeld, () -> "a renewed lease was lost: " + events);
    assertTrue(
        events.stream().anyMatch(LockEvent.Renewed.class::isInstance),
        "no renewal was reported in several TTLs");
    assertReleased(lease, "the store had freed the lock");
    return true;
  }

  @Rule("LEASE-02")
  void nobodyElseAcquiresTheLockDuringASlowRenewal() throws Exception {
    String name = newName();
    Network network = network();
    Duration latency = timing().requestTimeout().dividedBy(4);
    DistributedLock other = client().lock(name);
    Lease lease = acquireNow(client(network, longLived()).lock(name));
    try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, latency)) {
      Future<?> renewal = doInThread(() -> renewNow(lease, bound()));
      while (!renewal.isDone()) {
        assertRefused(other, "another client acquired the lock during its renewal");
        sleep(Duration.ofMillis(20));
      }
      within(bound().multipliedBy(2), renewal, "the renewal did not end");
      assertStruck(delay);
    }
    assertHeld(lease, "a lease was lost during its renewal");
    assertReleased(lease, "the store had freed the lock");
  }

  // --- LEASE-03 ---

  @Rule("LEASE-03")
  void validityCountsFromBeforeTheRequestWasSent() throws Exception {
    Network network = network();
    // An acquisition may take several round trips, all within one request time-out.
    Duration latency = timing().requestTimeout().dividedBy(8);
    LockClient slow = client(network, renewed());
    acquireNow(slow.lock(newName())).release();
    try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, latency)) {
      Lease lease = acquireNow(slow.lock(newName()));
      Duration remaining = lease.remainingValidity();
      assumeTestable(delay.hits() > 0, "the answer did not pass the proxy");
      assertCountedFromSend(lease, remaining, latency);
      renewNow(lease, bound());
      assertCountedFromSend(lease, lease.remainingValidity(), latency);
    }
  }

  private static void onRenewal(Lease lease, Runnable action) {
    lease.onEvent(
        event -> {
          if (event instanceof LockEvent.Renewed) {
            action.run();
          }
        });
  }

  private static void assertCountedFromSend(Lease lease, Duration remaining, Duration latency) {
    Duration maxRemaining = lease.effectiveTtl().minus(latency);
    assertTrue(
        remaining.compareTo(maxRemaining) <= 0,
        () ->
            "after an answer that took %s the validity is %s, so it was counted from the answer"
                .formatted(text(latency), text(remaining)));
  }

  @Rule("LEASE-03")
  void validityDoesNotCountTheWait() throws Exception {
    // Long enough for some validity to be left on a slow machine.
    LockOptions options = options(timing().renewedTtl(), false);
    DistributedLock lock = client(options).lock(newName());
    Lease blocker = acquireNow(client().lock(lock.name()));
    CompletableFuture<Lease> waiter = lock.acquireAsync();
    sleep(options.ttl().multipliedBy(5).dividedBy(4));
    blocker.release();
    Lease lease = within(waiter, "a waiter was not served");
    assertHeld(lease, "no validity was left after a wait for longer than the TTL");
    assertReleased(lease, "the store had freed the lock");
  }

  @Rule("LEASE-03")
  void validityNeverExceedsTheTtlAndOnlyARenewalExtendsIt() throws Exception {
    Lease lease = acquireNow(client(unrenewed()).lock(newName()));
    long ttlEnd = System.nanoTime() + lease.effectiveTtl().toNanos();
    AtomicInteger renewals = new AtomicInteger();
    onRenewal(lease, renewals::incrementAndGet);
    int moves = 0;
    long last = Long.MAX_VALUE;
    boolean stillHeld;
    do {
      long now = System.nanoTime();
      Duration remaining = lease.remainingValidity();
      assertTrue(
          remaining.compareTo(lease.effectiveTtl()) <= 0,
          "the validity is longer than the TTL that the store applies");
      long end = now + remaining.toNanos();
      assertTrue(
          remaining.isZero() || end - ttlEnd <= 5_000_000,
          "the end of validity moved beyond the TTL");
      if (last != Long.MAX_VALUE && !remaining.isZero() && end > last + 5_000_000) {
        moves++;
      }
      // Read the clock last, so that a pause in between does not look like a later end.
      last = lease.remainingValidity().toNanos() + System.nanoTime();
      stillHeld = lease.isHeld();
      sleep(Duration.ofMillis(20));
    } while (stillHeld);
    // On a session each heartbeat confirms a part of the TTL.
    int moved = moves;
    eventually(() -> renewals.get() >= moved, "the end of validity moved without a renewal");
    assertEquals(
        Duration.ZERO, lease.remainingValidity(), "the validity of a lease that is no longer held");
    assertFalse(lease.isHeld(), "a lease that had ended is held again");
  }

  @Rule("LEASE-03")
  void aLeaseEndsOnTimeWhileTheStoreIsSilent() throws Exception {
    assertEndsOnTime(Network::partition);
  }

  @Rule("LEASE-03")
  void aLeaseEndsOnTimeWhileConnectionsAreRefused() throws Exception {
    assertEndsOnTime(Network::cut);
  }

  private void assertEndsOnTime(Function<Network, Disturbance> fault) throws Exception {
    Network network = network();
    Lease lease = acquireNow(client(network, renewed()).lock(newName()));
    Disturbance partition = fault.apply(network);
    // A renewal in flight when the network fell silent can still move the end once.
    eventually(
        maxLifetime(lease), () -> !lease.isHeld(), "without the store the lease did not end");
    assertEquals(Duration.ZERO, lease.remainingValidity());
    assumeTestable(partition.hits() > 0, "nothing was sent during the partition");
  }

  /** Acquires a lease, and brings it to the point at which its holder is cut off. */
  private interface Scenario {
    Lease run(LockClient client, String name) throws Exception;
  }

  @Rule("LEASE-03")
  @ResourceLock(MANY_CLIENTS)
  void aHolderThatIsCutOffIsSafeUntilItsValidityEnds() throws Exception {
    Map<String, Scenario> scenarios = new LinkedHashMap<>();
    for (int times : new int[] {0, 1, 2, 3, 12}) {
      int count = times;
      scenarios.put(times + " renewals", (client, name) -> renewedTimes(count, client.lock(name)));
    }
    scenarios.put("a handoff", (client, name) -> handedOff(acquireNow(client.lock(name)), client));
    scenarios.put(
        "a handoff of a renewed lease",
        (client, name) -> handedOff(renewedTimes(1, client.lock(name)), client));
    assertSafeWhenCutOff(unrenewed(), scenarios);
  }

  private Lease renewedTimes(int times, DistributedLock lock) throws Exception {
    Lease lease = acquireNow(lock);
    for (int i = 0; i < times; i++) {
      sleep(unrenewed().ttl().dividedBy(8));
      renewNow(lease, bound());
    }
    return lease;
  }

  private Lease handedOff(Lease first, LockClient client) throws Exception {
    CompletableFuture<Lease> next = client.lock(first.name()).acquireAsync();
    sleep(unrenewed().ttl().dividedBy(10));
    first.release();
    return within(next, "a released lock was not granted to a waiter");
  }

  @Rule("LEASE-03")
  void aHolderThatIsCutOffAfterARenewalInTheBackgroundIsSafe() throws Exception {
    Map<String, Scenario> scenarios = new LinkedHashMap<>();
    for (int times = 1; times <= 2; times++) {
      int count = times;
      scenarios.put(
          "renewal number " + times + " in the background",
          (client, name) -> {
            Lease lease = acquireNow(client.lock(name));
            CountDownLatch renewals = new CountDownLatch(count);
            onRenewal(lease, renewals::countDown);
            boolean unused =
                renewals.await(
                    maxLifetime(lease).multipliedBy(2).toMillis(), TimeUnit.MILLISECONDS);
            return lease;
          });
    }
    assertSafeWhenCutOff(renewed(), scenarios);
  }

  /** Tests all scenarios at once, so that together they take about one TTL. */
  private void assertSafeWhenCutOff(LockOptions options, Map<String, Scenario> scenarios)
      throws Exception {
    List<Future<Boolean>> tested = new ArrayList<>();
    for (Map.Entry<String, Scenario> scenario : scenarios.entrySet()) {
      Network network = network();
      LockClient client = client(network, options);
      LockClient other = client();
      tested.add(
          inThread(
              // A stall of the machine may end a lease early, but not every time.
              () -> anyOfThree(isLast -> isSafeWhenCutOff(scenario, network, client, other))));
    }
    for (Future<Boolean> test : tested) {
      assumeTestable(
          within(
              timing().longTtl(),
              test,
              "the lock of a holder that was cut off did not pass to another client"),
          "a lease was lost each time before its holder was cut off");
    }
  }

  private boolean isSafeWhenCutOff(
      Map.Entry<String, Scenario> scenario, Network network, LockClient client, LockClient other)
      throws Exception {
    String name = newName();
    Optional<Lease> reached =
        emptyOn(LeaseLostException.class, () -> scenario.getValue().run(client, name));
    if (reached.isEmpty()) {
      return false;
    }
    Lease lease = reached.get();
    network.partition();
    long now = System.nanoTime();
    long validUntil = now + lease.remainingValidity().toNanos();
    Lease next =
        acquireAtOnce(
            maxLifetime(lease),
            other.lock(name),
            "the store did not free the lock of a holder that was cut off after "
                + scenario.getKey());
    Duration early = Duration.ofNanos(validUntil - System.nanoTime());
    // A renewal that was in flight may have extended the validity.
    Duration overlap = early.isNegative() ? lease.remainingValidity() : early;
    assertTrue(
        overlap.isZero(),
        () ->
            "another client acquired the lock %s before the end of the validity of a holder that was cut off after %s"
                .formatted(text(overlap), scenario.getKey()));
    next.release();
    return true;
  }

  // --- LEASE-04, LEASE-05 ---

  @Rule("LEASE-04")
  void anExpiredLeaseCannotBeRenewed() throws Exception {
    String name = newName();
    Lease lease = acquireNow(client(unrenewed()).lock(name));
    awaitExpiry(lease);
    assertStaysLost(name, lease);
  }

  @Rule("LEASE-04")
  void aLeaseThatWasTakenAwayCannotBeRenewed() throws Exception {
    String name = newName();
    Lease lease = acquireNow(client().lock(name));
    takeAway(name);
    assertStaysLost(name, lease);
  }

  private void assertStaysLost(String name, Lease lease) throws Exception {
    LockClient other = client();
    for (int i = 0; i < 2; i++) {
      assertThrows(
          LeaseLostException.class,
          () -> renewNow(lease, bound()),
          "a lost lease was renewed, with the lock free");
      assertFalse(lease.isHeld(), "a lost lease is held again");
    }
    assertFree(other.lock(name), "renewing a lost lease took the lock again");
  }

  @Rule("LEASE-05")
  void nothingRenewsAfterARelease() throws Exception {
    LockClient client = client(renewed());
    LockClient other = client();
    int tested = 0;
    for (int i = 0; i < 60; i++) {
      Lease lease = acquireUndoubted(client);
      Future<Boolean> renewal =
          inThread(
              () -> {
                try {
                  while (true) {
                    renewNow(lease, bound());
                  }
                } catch (IllegalStateException | LeaseLostException e) {
                  return e instanceof IllegalStateException;
                }
              });
      if (i % 2 == 0) {
        Thread.onSpinWait();
      } else {
        sleep(Duration.ofMillis(1));
      }
      ReleaseOutcome released = lease.release();
      if (released == ReleaseOutcome.ALREADY_LOST && hasExpired(lease)) {
        continue; // after a stall of the machine
      }
      tested++;
      assertNotEquals(
          ReleaseOutcome.ALREADY_LOST, released, "the outcome of a release during a renewal");
      assertTrue(
          within(renewal, "the renewals did not end"),
          "a released lease is reported as lost by renew");
      Lease next =
          acquireAfter(
              released,
              other.lock(lease.name()),
              "the lock is still held after its release: it was renewed");
      renewNow(next, bound());
      next.release();
      assertFalse(lease.isHeld());
    }
    assertTrue(tested > 0, "every lease ran out before its release");
  }

  private boolean hasExpired(Lease lease) throws Exception {
    return within(lease.onLoss(), "a lease was reported as lost without a loss signal").reason()
        == LossReason.EXPIRED;
  }

  @Rule("LEASE-05")
  void noRenewalIsReportedAfterTheRelease() throws Exception {
    LockClient client = client(renewed());
    List<Queue<LockEvent>> all = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      Queue<LockEvent> events = new ConcurrentLinkedQueue<>();
      Lease lease = acquireNow(client.lock(newName()));
      lease.onEvent(events::add);
      renewNow(lease, bound());
      lease.release();
      all.add(events);
    }
    for (Queue<LockEvent> events : all) {
      eventually(
          () -> events.stream().anyMatch(LockEvent.Released.class::isInstance),
          "no release was reported");
    }
    sleep(renewed().ttl()); // long enough for several renewals
    for (Queue<LockEvent> events : all) {
      List<LockEvent> inOrder = List.copyOf(events);
      assertTrue(
          inOrder.get(inOrder.size() - 1) instanceof LockEvent.Released,
          () -> "something followed the release: " + inOrder);
    }
  }

  // --- LEASE-06 ---

  @Rule("LEASE-06")
  void theMaximumHoldTimeEndsARenewedLease() throws Exception {
    String name = newName();
    Duration maxHold = timing().renewedTtl().plusMillis(500);
    LockOptions limited = renewed().toBuilder().maxHold(maxHold).build();
    long before = System.nanoTime();
    Lease lease = acquireNow(client(limited).lock(name));
    LeaseLostException loss =
        within(
            maxHold.plus(bound()), lease.onLoss(), "the maximum hold time did not end the lease");
    if (since(before).compareTo(maxHold) < 0) {
      fail("the lease ended before its maximum hold time: " + loss, loss);
    }
    assertEquals(LossReason.MAX_HOLD, loss.reason());
    assertFalse(lease.isHeld());
    assertFree(client().lock(name), "the lock was not freed at the maximum hold time");
  }

  @Rule("LEASE-06")
  void theProgramCannotRenewBeyondTheMaximumHoldTime() throws Exception {
    // On a busy machine a renewal may come too late.
    assumeTestable(
        anyOfThree(isLast -> isRenewedToTheMaximumAndNoFurther()),
        "the lease expired each time before it could be renewed");
  }

  /** {@return false if the lease expired before it could be renewed} */
  private boolean isRenewedToTheMaximumAndNoFurther() throws Exception {
    Duration maxHold = timing().ttl().multipliedBy(2);
    LockOptions limited = unrenewed().toBuilder().maxHold(maxHold).build();
    long before = System.nanoTime();
    Lease lease = acquireNow(client(limited).lock(newName()));
    long acquired = System.nanoTime();
    long end = acquired + lease.remainingValidity().toNanos(); // as reported last
    try {
      while (true) {
        boolean over = since(acquired).compareTo(maxHold.plus(bound())) >= 0;
        renewNow(lease, bound());
        assertFalse(over, "the lease was renewed for longer than its maximum hold time");
        end = System.nanoTime() + lease.remainingValidity().toNanos();
        assertTrue(
            end - acquired <= maxHold.toNanos() + 50_000_000,
            "a renewal moved the end beyond the maximum hold time");
        sleep(Duration.ofMillis(50));
      }
    } catch (LeaseLostException e) {
      if (since(before).compareTo(maxHold) >= 0) {
        return true;
      }
      if (e.reason() == LossReason.MAX_HOLD || System.nanoTime() - end < 0) {
        fail("the lease ended before its maximum hold time: " + e);
      }
      return false;
    }
  }

  // --- LEASE-11 ---

  @Rule("LEASE-11")
  void aLockThatIsReleasedEarlyIsKeptForItsMinimumHold() throws Exception {
    String name = newName();
    Duration minHold = timing().renewedTtl().plusMillis(500);
    LockOptions kept = renewed().toBuilder().minHold(minHold).build();
    long before = System.nanoTime();
    Lease lease = acquireNow(client(kept).lock(name));
    assertEquals(ReleaseOutcome.DEFERRED, lease.release(), "an early release was not deferred");
    assertFalse(lease.isHeld());
    CompletableFuture<Lease> waiting = client().lock(name).acquireAsync();
    if (has(Capability.DEFERRED_RELEASE)) {
      assertKeptByTheStore(minHold, before, name);
    }
    assertKept(minHold, before, waiting);
  }

  /** Checks the time left that is shown, so that a late grant cannot hide an early end. */
  private void assertKeptByTheStore(Duration minHold, long before, String name) throws Exception {
    LockClient observer = client();
    Duration tolerance = info().granularity().plusMillis(50);
    for (int i = 0; i < 10; i++) {
      LockState state = answer(() -> observer.admin().inspect(name));
      Duration passed = since(before); // read later, so that a slow answer cannot look like a fault
      Duration remaining = state.remaining().orElse(minHold);
      assertTrue(
          remaining.plus(passed).plus(tolerance).compareTo(minHold) >= 0,
          () ->
              "the store keeps the lock for less than its minimum hold: for %s more after %s"
                  .formatted(text(remaining), text(passed)));
      sleep(Duration.ofMillis(20));
    }
  }

  private void assertKept(Duration minHold, long before, CompletableFuture<Lease> waiting)
      throws Exception {
    Lease next =
        within(minHold.plus(bound()), waiting, "the lock was kept beyond its minimum hold");
    assertTrue(
        since(before).compareTo(minHold) >= 0,
        "the lock was free before its minimum hold was over");
    next.release();
  }

  // --- LEASE-12 ---

  private static final Duration MIN_HOLD = Duration.ofSeconds(3);

  /** {@return a lock whose TTL is far longer than its minimum hold} */
  private static DistributedLock heldBriefly(LockClient client, String name) {
    return client.lock(name, options -> options.minHold(MIN_HOLD));
  }

  @Rule("LEASE-12")
  @Requires(Capability.DEFERRED_RELEASE)
  void theStoreKeepsAMinimumHoldWhenTheClientIsClosed() throws Exception {
    String name = newName();
    LockClient closed = client();
    long before = System.nanoTime();
    Lease lease = acquireNow(heldBriefly(closed, name));
    CompletableFuture<Lease> waiting = client().lock(name).acquireAsync();
    assertDeferred(lease.release().toString(), before, MIN_HOLD);
    closed.close();
    assertKept(MIN_HOLD, before, waiting);
  }

  /** Releases a lock before its minimum hold has passed, and returns the outcome. */
  static final class ReleaseEarly implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      return heldBriefly(worker.client(), arguments.get(0)).acquire().release().toString();
    }
  }

  @Rule("LEASE-12")
  @Requires(Capability.DEFERRED_RELEASE)
  void theStoreKeepsAMinimumHoldWhenTheProcessIsKilled() throws Exception {
    String name = newName();
    OtherProcess holder = process(longLived());
    long before = System.nanoTime();
    assertDeferred(holder.call(timing().longTtl(), ReleaseEarly.class, name), before, MIN_HOLD);
    holder.kill();
    assertKept(MIN_HOLD, before, client().lock(name).acquireAsync());
  }

  @Rule("LEASE-12")
  @Requires(value = Capability.DEFERRED_RELEASE, absent = true)
  void aClosedClientFreesALockThatItKeptForAMinimumHold() throws Exception {
    String name = newName();
    LockClient closed = client();
    DistributedLock lock = closed.lock(name, options -> options.minHold(timing().longTtl()));
    assertEquals(ReleaseOutcome.DEFERRED, acquireNow(lock).release());
    assertRefused(client().lock(name), "the lock was free before its minimum hold was over");
    closed.close();
    assertFree(client().lock(name), "a closed client did not free the lock");
  }

  @Rule({"LEASE-11", "ADMIN-02"})
  void aForcedReleaseEndsALongMinimumHold() throws Exception {
    LockClient operator = client();
    LockClient holder = client();
    Duration minHold = Duration.ofDays(30); // more than 31 bits of milliseconds
    for (Kind kind : kinds()) {
      String name = newName();
      Acquirable<Lease> whole = kind.whole().of(operator, name);
      Lease lease = acquireNow(kind.of(holder, name, options -> options.minHold(minHold)));
      assertEquals(ReleaseOutcome.DEFERRED, lease.release(), "the outcome of an early release");
      assertRefused(whole, "the lock was free before its minimum hold was over");
      forceRelease(operator, name, "a lock was reported as free during its minimum hold");
      acquireNow(whole, "the lock is not free after the forced release").release();
    }
  }

  // --- LEASE-07, LEASE-08 ---

  @Rule("LEASE-07")
  void aShortOutageDoesNotCostTheLease() throws Exception {
    String name = newName();
    Network network = network();
    Duration outage = Duration.ofSeconds(1);
    // The TTL must cover one renewal interval, the outage and the bound.
    Duration ttl = bound().plus(outage).plusSeconds(1).multipliedBy(3).dividedBy(2);
    LockClient client = client(network, options(ttl, true));
    Lease lease = acquireNow(client.lock(name));
    sleep(lease.effectiveTtl().dividedBy(4)); // a renewal is due during the outage or soon after
    try (Disturbance cut = network.cut()) {
      assumeTestable(cut.hits() > 0, "the client has no connection through the proxy");
      sleep(outage);
    }
    CompletableFuture<Object> renewed = new CompletableFuture<>();
    onRenewal(lease, () -> renewed.complete("renewed"));
    Object outcome =
        within(
            maxLifetime(lease),
            CompletableFuture.anyOf(renewed, lease.onLoss()),
            "the lease was never renewed");
    assertTrue(outcome == renewed.getNow(null), () -> "a short outage cost the lease: " + outcome);
    assertReleased(lease, "the store had freed the lock");
  }

  /**
   * Holds many leases while callbacks block the JVM's common threads. Returns how many more threads
   * many leases need than one, and how many leases were lost.
   */
  static final class HoldMany implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      String prefix = arguments.get(0);
      int count = Integer.parseInt(arguments.get(1));
      List<Lease> leases = new ArrayList<>();
      leases.add(worker.client().lock(prefix + "-first").acquire());
      int before = ownThreads();
      for (int i = 1; i < count; i++) {
        leases.add(worker.client().lock(prefix + "-" + i).acquire());
      }
      CountDownLatch blocked = new CountDownLatch(1);
      blockTheCommonThreads(blocked);
      Thread.sleep(worker.options().ttl().toMillis() * 3 / 2);
      int threads = ownThreads() - before;
      long lost = leases.stream().filter(lease -> !lease.isHeld()).count();
      blocked.countDown();
      leases.forEach(Lease::release);
      return threads + " " + lost;
    }

    /** {@return the number of threads other than the JVM's common threads} */
    private static int ownThreads() {
      return (int)
          Thread.getAllStackTraces().keySet().stream()
              .map(Thread::getName)
              .filter(name -> !name.contains("commonPool") && !name.contains("DelayScheduler"))
              .count();
    }

    /** Blocks the common pool, and the thread that times futures out. */
    private static void blockTheCommonThreads(CountDownLatch until) throws InterruptedException {
      CountDownLatch reached = new CountDownLatch(1);
      CompletableFuture<Object> timedOut = new CompletableFuture<>();
      // Registered before the time-out, since otherwise this thread would run it.
      var unused =
          timedOut.exceptionally(
              timeout -> {
                reached.countDown();
                awaitQuietly(until);
                return null;
              });
      timedOut.orTimeout(1, TimeUnit.MILLISECONDS);
      reached.await();
      // Before JDK 25 the thread that times futures out does not belong to the pool.
      for (int i = 0; i < ForkJoinPool.getCommonPoolParallelism(); i++) {
        ForkJoinPool.commonPool().execute(() -> awaitQuietly(until));
      }
    }
  }

  @Rule("LEASE-08")
  @ResourceLock(value = STORE_ENTRIES, mode = ResourceAccessMode.READ) // its entries are many
  void leasesNeedNoThreadEach() throws Exception {
    int count = 300;
    OtherProcess holder = separateProcess(renewed());
    String[] answer =
        holder
            .call(
                Duration.ofMinutes(3).plus(renewed().ttl().multipliedBy(3)),
                HoldMany.class,
                newName(),
                Integer.toString(count))
            .split(" ");
    // Checked first, since too many threads also delay renewals.
    assertTrue(
        Integer.parseInt(answer[0]) < count / 10,
        () -> count + " leases need " + answer[0] + " more threads than one lease");
    assertNotEquals(count, Integer.parseInt(answer[1]), "all renewed leases were lost");
    if (!answer[1].equals("0")) {
      throw new LateError(answer[1] + " of " + count + " renewed leases were lost");
    }
  }

  @Rule("LEASE-08")
  void aBlockedListenerDoesNotDelayTheRenewalOfOthers() throws Exception {
    LockClient client = client(renewed());
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch reached = new CountDownLatch(1);
    try {
      Lease slow = acquireNow(client.lock(newName()));
      slow.onEvent(
          event -> {
            reached.countDown();
            awaitQuietly(blocked);
          });
      renewNow(slow, bound()); // notifies the listener, which then blocks
      within(doInThread(reached::await), "the listener was not called");
      Lease other = acquireNow(client.lock(newName()));
      assertNever(
          other.effectiveTtl().multipliedBy(3).dividedBy(2),
          CompletableFuture.anyOf(other.onLoss(), slow.onLoss()),
          "a lease was lost because a listener blocked");
      assertTrue(other.isHeld() && slow.isHeld());
    } finally {
      blocked.countDown();
    }
  }

  // --- LEASE-09, LEASE-10 ---

  /**
   * Acquires a lock, abandons the lease, and returns the reason of the loss that the client
   * reports.
   */
  static final class Forget implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      CompletableFuture<LossReason> reported = new CompletableFuture<>();
      worker
          .client()
          .onEvent(
              event -> {
                if (event instanceof LockEvent.Lost lost) {
                  reported.complete(lost.loss().reason());
                }
              });
      acquireAndForget(worker.client().lock(arguments.get(0)));
      long end = System.nanoTime() + Duration.parse(arguments.get(1)).toNanos();
      while (!reported.isDone() && System.nanoTime() - end < 0) {
        System.gc();
        Thread.sleep(100); // more often would delay the client on a busy machine
      }
      return String.valueOf(reported.getNow(null));
    }

    private static void acquireAndForget(DistributedLock lock) throws InterruptedException {
      if (!lock.acquire().isHeld()) {
        throw new IllegalStateException("a new lease is not held");
      }
    }
  }

  @Rule("LEASE-09")
  void anAbandonedLeaseEndsAndTheLogNamesItsCallSite() throws Exception {
    OtherProcess forgetful = separateProcess(renewed());
    Duration limit = renewed().ttl().multipliedBy(2).plus(bound().multipliedBy(2));
    int attempts = 3; // on a busy machine the lease may end before its first renewal is due
    String name;
    String reason;
    do {
      name = newName();
      reason = forgetful.call(limit.plus(bound()), Forget.class, name, limit.toString());
    } while (reason.equals("EXPIRED") && --attempts > 0);
    assertEquals("ABANDONED", reason, "the loss of an abandoned lease");
    assertTrue(
        forgetful.log().contains("acquireAndForget"),
        () -> "no warning names the method that acquired the lease: " + forgetful.log());
    assertFree(
        renewed().ttl().plus(bound()),
        client().lock(name),
        "the lock of an abandoned lease was not freed");
  }

  @Rule("LEASE-09")
  void aViewWhoseThreadHasEndedIsNotRenewed() throws Exception {
    // On a busy machine the first check may come after the lease has ended.
    assertTrue(anyOfThree(this::isHeldAndThenEnds));
  }

  /** {@return false if the lease ended before the first check} */
  private boolean isHeldAndThenEnds(boolean lastAttempt) throws Exception {
    String name = newName();
    LockClient client = client(renewed());
    DistributedLock lock = client().lock(name);
    Thread thread = start(() -> client.lock(name).asLock().lock());
    thread.join(bound().toMillis());
    assertFalse(thread.isAlive(), "the view was not locked");
    Optional<Lease> early = answer(lock::tryAcquire);
    if (early.isPresent()) {
      early.get().release();
      assertFalse(lastAttempt, "the view did not hold the lock");
      return false;
    }
    assertFree(
        renewed().ttl().multipliedBy(2).plus(bound()),
        lock,
        "a view is still held although its thread has ended");
    return true;
  }

  @Rule("LEASE-10")
  void isHeldIsFalseAfterTheMachineSlept() throws Exception {
    AtomicReference<Duration> slept = new AtomicReference<>(Duration.ZERO);
    LockClient client = client(longLived(), new ShiftedClock(slept::get));
    Lease lease = acquireNow(client.lock(newName()));
    Lease renewedAfterwards = acquireNow(client.lock(newName()));
    // On a session the validity may be less than half of the TTL.
    slept.set(lease.remainingValidity().dividedBy(2));
    assertHeld(lease, "a short sleep cost the lease");
    renewNow(renewedAfterwards, bound());
    slept.set(lease.effectiveTtl().multipliedBy(2));
    assertFalse(lease.isHeld(), "held although the machine slept for longer than the validity");
    assertFalse(renewedAfterwards.isHeld(), "the renewed lease is held beyond its validity");
    assertEquals(
        LossReason.SUSPENDED, within(lease.onLoss(), "the loss was not reported").reason());
    assertThrows(
        LeaseLostException.class, lease::renew, "a lease was renewed after the machine slept");
  }
}
