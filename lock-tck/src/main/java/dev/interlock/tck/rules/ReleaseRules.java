package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Grant;
import dev.interlock.tck.Server;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.run.NotTestedException;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;

/** REL: how leases and clients end, and what they leave behind. */
public abstract class ReleaseRules extends RuleTest {

  // --- REL-01, REL-02 ---

  @Rule("REL-01")
  void aRepeatedReleaseReturnsTheSameOutcome() throws Exception {
    LockClient client = client();
    Lease lease = acquireNow(client.lock(newName()));
    ReleaseOutcome outcome = lease.release();
    for (int retry = 0; retry < 2 && outcome == ReleaseOutcome.UNKNOWN; retry++) {
      lease = acquireUndoubted(client); // a busy store did not answer in time
      outcome = lease.release();
    }
    assertEquals(ReleaseOutcome.RELEASED, outcome, "release number 1");
    assertStaysReleased(lease);
  }

  private void assertStaysReleased(Lease lease) {
    for (int i = 2; i <= 3; i++) {
      assertEquals(ReleaseOutcome.RELEASED, lease.release(), "release number " + i);
    }
    lease.close();
    assertFalse(lease.isHeld(), "a lease is still held after its release");
    assertEquals(
        Duration.ZERO, lease.remainingValidity(), "the validity that is left after the release");
    assertThrows(IllegalStateException.class, lease::ensureHeld);
    assertThrows(IllegalStateException.class, lease::renew);
    acquireNow(client().lock(lease.name())).release();
  }

  @Rule("REL-01")
  void anAsynchronousReleaseReturnsTheSameOutcome() throws Exception {
    Lease lease = acquireNow(client().lock(newName()));
    CompletableFuture<ReleaseOutcome> release = lease.releaseAsync();
    assertFalse(lease.isHeld(), "a lease is still held after its release has started");
    ReleaseOutcome outcome = within(release, "a release did not end");
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, "the outcome of releasing a held lease");
    assertEquals(
        outcome,
        within(lease.releaseAsync(), "a repeated release did not end"),
        "the outcome of a repeated release");
    assertEquals(outcome, lease.release(), "the outcome of a repeated release");
  }

  @Rule("REL-01")
  void theOutcomeDistinguishesAHandoffFromARelease() throws Exception {
    DistributedLock lock = client().lock(newName());
    Lease before = acquireNow(client().lock(lock.name()));
    CompletableFuture<Lease> first = lock.acquireAsync();
    // queued before the first grant, so that the lock may be handed off to it
    CompletableFuture<Lease> second = lock.acquireAsync();
    before.release();
    Lease lease = within(first, "a released lock was not granted to a waiter");
    ReleaseOutcome outcome = lease.release();
    try (Lease next = within(second, "the lock was not passed on")) {
      assertNotEquals(
          ReleaseOutcome.ALREADY_LOST, outcome, "the outcome of releasing a held lease");
      if (info().has(Capability.FENCING)) {
        assertEquals(
            lease.fencingToken() / Grant.LEASES_PER_GRANT
                == next.fencingToken() / Grant.LEASES_PER_GRANT,
            outcome == ReleaseOutcome.HANDED_OFF,
            () -> "a release without a request to the store returned " + outcome);
      }
    }
  }

  @Rule("REL-01")
  void cancellingAReleaseDoesNotStopIt() throws Exception {
    Lease lease = acquireNow(client().lock(newName()));
    lease.releaseAsync().cancel(true);
    assertFree(
        longLived().ttl().dividedBy(2),
        client().lock(lease.name()),
        "a release whose future was cancelled did not take place");
  }

  @Rule("REL-01")
  void theReleaseOfALostLeaseReportsTheLossAndCloseDoesNotThrow() throws Exception {
    Lease expired = acquireNow(client(unrenewed()).lock(newName()));
    awaitExpiry(expired);
    Lease taken = takenAway();
    for (int retry = 0; retry < 2 && taken.release() == ReleaseOutcome.UNKNOWN; retry++) {
      taken = takenAway(); // a busy store did not answer in time
    }
    for (Lease lost : List.of(expired, taken)) {
      for (int i = 0; i < 2; i++) {
        assertEquals(ReleaseOutcome.ALREADY_LOST, lost.release(), "the release of a lost lease");
      }
      lost.close();
      assertThrows(LeaseLostException.class, lost::ensureHeld);
    }
  }

  private Lease takenAway() throws Exception {
    String name = newName();
    Lease taken = acquireNow(client().lock(name));
    takeAway(name);
    return taken;
  }

  @Rule({"REL-02", "REL-01"})
  void aReleaseDuringAPartitionIsCompletedAfterIt() throws Exception {
    String name = newName();
    Network network = network();
    Lease lease = acquireNow(client(network, longLived()).lock(name));
    ReleaseOutcome outcome;
    try (Disturbance partition = network.partition()) {
      Future<ReleaseOutcome> release = inThread(lease::release);
      outcome = within(release, "a release did not return while the store was out of reach");
      assertStruck(partition);
      assertEquals(ReleaseOutcome.UNKNOWN, outcome, "the store was out of reach");
      lease.close();
      assertFalse(lease.isHeld(), "a lease is still held after its release");
    }
    assertEquals(outcome, lease.release(), "the outcome of a repeated release");
    assertFree(
        longLived().ttl().dividedBy(2),
        client().lock(name),
        "a release during a partition was not completed after it");
  }

  // --- REL-03 ---

  @Rule("REL-03")
  @ResourceLock(MANY_CLIENTS)
  void abandonedAttemptsDoNotHoldTheLock() throws Exception {
    String name = newName();
    abandonAttempts(client(), client().lock(name));
    // At once: an orphan would hold it for a TTL, a queue entry until its session ends.
    assertFree(client().lock(name), "an abandoned attempt holds the lock");
    eventually(
        () -> client().admin().inspect(name).waiters().isEmpty(),
        "an abandoned attempt is still in the queue");
  }

  @Rule("REL-03")
  void aPauseAtAnyStepOfAnAttemptLeavesNothingBehind() throws Exception {
    pauseAtAnyStep(Kind.LOCK, Kind.LOCK, Duration.ZERO);
  }

  @Rule("REL-03")
  void aPauseAtAnyStepOfAWaitLeavesNothingBehind() throws Exception {
    pauseAtAnyStep(Kind.LOCK, Kind.LOCK, bound());
  }

  @Rule({"REL-03", "SEM-05"})
  @Requires(Capability.SEMAPHORE)
  void aPauseAtAnyStepOfAnAttemptForAPermitLeavesNothingBehind() throws Exception {
    pauseAtAnyStep(Kind.ONE_PERMIT, Kind.ALL_PERMITS, Duration.ZERO);
  }

  private void pauseAtAnyStep(AcquirableFactory way, AcquirableFactory whole, Duration wait)
      throws Exception {
    String name = newName();
    Lease first = acquireNow(client(longLived()).lock(newName()));
    // Longer than an attempt may take, but shorter than the life of a grant.
    Duration pause = first.effectiveTtl().multipliedBy(9).dividedBy(10);
    first.release();
    Acquirable<Lease> others = whole.of(client(), name);
    PausingClock clock;
    int step = 0;
    do {
      clock = new PausingClock();
      LockClient client = client(longLived(), clock);
      clock.pauseAfter(step, pause);
      // If the attempt fails, its outcome is unknown.
      emptyOn(LockException.class, () -> way.of(client, name).tryAcquire(wait))
          .ifPresent(lease -> lease.ifPresent(Lease::release));
      String what = "an attempt that was paused at reading %d of its clock still holds the lock";
      assertFree(others, what.formatted(step));
      step++;
    } while (clock.hasPaused());
  }

  @Rule("REL-03")
  void abandonedAttemptsLeaveNothingOnTheStore() throws Exception {
    Server server = kit().server();
    StoreView view = view(server);
    String name = newName();
    LockClient waiting = client();
    abandonAttempts(waiting, client().lock(name));
    awaitNoResidue(view, name, "abandoned attempts left something on the store");
  }

  @Rule("REL-03")
  @ResourceLock(STORE_ENTRIES)
  void attemptsReleasesAndQueriesAddNothingToTheStore() throws Exception {
    int attempts = 400;
    String name = newName();
    Lease blocker = acquireNow(client().lock(name));
    LockClient client = client();
    DistributedLock free = client.lock(newName());
    List<String> names = List.of(name, free.name());
    OptionalLong before = kit().countEntries(names);
    assumeTestable(
        before.isPresent(),
        "the harness has no view of the store's contents, and the store does not speak the Redis"
            + " protocol, so its entries cannot be counted");
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (int i = 0; i < attempts; i++) {
      assertRefused(client.lock(name), "a held lock was acquired");
      boolean unused = answer(() -> client.admin().inspect(name)).isHeld();
      released = acquireAfter(released, free).release();
      Lease lost = acquireAfter(released, free);
      forceRelease(client, free.name(), "a held lock was reported as free");
      lost.release();
    }
    assertFewMore(
        names,
        before.getAsLong(),
        attempts / 2,
        attempts + " attempts on a held lock, queries, leases and lost leases");
    blocker.release();
  }

  /** Tolerates a few entries: without a view, keys may not show whose they are. */
  private void assertFewMore(List<String> names, long before, long maxAdded, String what)
      throws Exception {
    AtomicLong added = new AtomicLong();
    assertTrue(
        poll(
            bound(),
            Duration.ofMillis(50),
            () -> {
              added.set(kit().countEntries(names).orElse(0) - before);
              return added.get() < maxAdded;
            }),
        () -> what + " left " + added + " entries on the store");
  }

  private void abandonAttempts(LockClient waiting, DistributedLock holding) throws Exception {
    String name = holding.name();
    Lease blocker = acquireNow(holding);
    List<CompletableFuture<?>> cancelled = new ArrayList<>();
    List<Future<Optional<Lease>>> timedOut = new ArrayList<>();
    List<Waiter<Lease>> interrupted = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      LockClient other = client(); // contends on the store instead of in the local queue
      for (LockClient client : List.of(waiting, other)) {
        assertRefused(client.lock(name), "a held lock was acquired");
        for (int pause = 0; pause < 4; pause++) {
          // cancelled roughly while its first request is in flight
          CompletableFuture<Lease> attempt = client.lock(name).acquireAsync();
          LockSupport.parkNanos(pause * 300_000L);
          attempt.cancel(true);
        }
        cancelled.add(client.lock(name).acquireAsync());
        timedOut.add(client.lock(name).tryAcquireAsync(Duration.ofMillis(300)));
        interrupted.add(new Waiter<>(client.lock(name)::acquire));
      }
    }
    for (Future<Optional<Lease>> future : timedOut) {
      assertNotAcquired(future, Duration.ofMillis(300));
    }
    cancelled.forEach(future -> future.cancel(true));
    for (Waiter<Lease> waiter : interrupted) {
      waiter.interrupt();
      within(waiter.outcome, "an interrupted thread did not return").ifPresent(Lease::release);
    }
    assertReleased(blocker, "waiters freed a held lock");
  }

  @Rule("REL-03")
  void aWaiterThatWasKilledLeavesNothingOnTheStore() throws Exception {
    StoreView view = view(kit().server());
    String name = newName();
    Lease blocker = acquireNow(client().lock(name));
    OtherProcess waiter = process(unrenewed());
    var unused =
        inThread(() -> waiter.call(longLived().ttl(), FairnessRules.AcquireAndRelease.class, name));
    awaitQueued(client(), name, 1);
    waiter.kill();
    blocker.release();
    sleep(unrenewed().ttl()); // the store may count a dead waiter until its TTL has passed
    awaitNoResidue(view, name, "a waiter that was killed left something on the store");
  }

  // --- REL-04 ---

  @Rule("REL-04")
  @Timeout(value = 8, unit = TimeUnit.MINUTES)
  @ResourceLock(STORE_ENTRIES)
  void tenThousandNamesLeaveNothingInTheClientOrOnTheStore() throws Exception {
    int names = 10_000;
    String prefix = newName();
    OtherProcess user = separateProcess(longLived());
    String[] answer =
        user.call(Duration.ofMinutes(5), UseManyNames.class, prefix, Integer.toString(names))
            .split(" ");
    long heap = Long.parseLong(answer[0]);
    assertTrue(
        heap <= names * UseManyNames.MAX_BYTES_PER_NAME,
        () -> names + " names that were used and released keep " + heap + " bytes of heap");
    assertTrue(
        Integer.parseInt(answer[1]) <= UseManyNames.MAX_ADDED_THREADS,
        () -> names + " names that were used and released keep " + answer[1] + " more threads");
    Optional<StoreView> view = kit().server().view();
    if (view.isPresent()) {
      awaitNoResidue(view.get(), prefix, "names that were used and released left something");
      assertEquals(
          List.of(),
          entries(view.get()).stream()
              .filter(entry -> entry.description().contains(prefix) && !entry.expires())
              .toList(),
          "entries of released names that never expire");
    }
  }

  // --- REL-05 ---

  @Rule("REL-05")
  void closingAClientReleasesItsLeasesAndEndsItsWaits() throws Exception {
    String heldName = newName();
    String busyName = newName();
    LockClient other = client();
    Lease others = acquireNow(other.lock(busyName));
    LockClient closing = client();
    DistributedLock lock = closing.lock(heldName);
    Lease lease = acquireNow(lock);
    Future<Lease> blocked = inThread(() -> closing.lock(busyName).acquire());
    Future<Lease> localBlocked = inThread(() -> closing.lock(heldName).acquire());
    CompletableFuture<Lease> async = closing.lock(busyName).acquireAsync();
    assertNever(Duration.ofMillis(200), blocked, "a held lock was acquired");

    Future<?> close =
        doInThread(
            () -> {
              closing.close();
              closing.close();
            });
    within(bound().multipliedBy(2), close, "close() did not return");
    for (Future<Lease> wait : List.of(blocked, localBlocked)) {
      assertThrows(
          IllegalStateException.class,
          () -> within(wait, "a wait did not end when its client was closed"));
    }
    assertThrows(
        IllegalStateException.class,
        () -> within(async, "an asynchronous wait did not end"),
        "an asynchronous wait did not end with IllegalStateException when its client was closed");
    assertFalse(lease.isHeld(), "a lease is held after its client was closed");
    assertEquals(
        LossReason.CLOSED,
        within(lease.onLoss(), "the holder was not notified that its client was closed").reason());
    assertFree(other.lock(heldName), "closing the client did not release its lease");
    others.release();

    assertThrows(IllegalStateException.class, () -> closing.lock(newName()));
    assertThrows(IllegalStateException.class, () -> closing.multiLock(List.of(newName())));
    assertThrows(IllegalStateException.class, lock::tryAcquire);
    assertThrows(IllegalStateException.class, lock::acquire);
    assertThrows(IllegalStateException.class, () -> lock.tryAcquire(Duration.ofSeconds(1)));
    assertThrows(IllegalStateException.class, () -> closing.admin().inspect(heldName));
    assertThrows(IllegalStateException.class, () -> closing.admin().forceRelease(heldName));
    lease.release();
    assertFree(other.lock(busyName), "a wait of the closed client became the holder");
  }

  @Rule("REL-05")
  void closingAClientClosesItsConnections() throws Exception {
    Network network = network();
    LockClient client = client(network, longLived());
    Lease others = acquireNow(client().lock(newName()));
    CompletableFuture<Lease> waiter = client.lock(others.name()).acquireAsync();
    assertNever(SHORT_WAIT, waiter, "a held lock was acquired"); // may need another connection
    others.release();
    within(waiter, "a waiter was not served").release();
    long open = network.traffic().open();
    assertTrue(open > 0, "there is no connection through the proxy");
    client.close();
    eventually(
        () -> network.traffic().open() == 0,
        "a closed client keeps some of its " + open + " connections open");
  }

  @Rule("REL-05")
  @ResourceLock(STORE_ENTRIES)
  void closedClientsLeaveNothingOnTheStore() throws Exception {
    int clients = 60;
    String name = newName();
    OptionalLong before = kit().countEntries(List.of(name));
    assumeTestable(
        before.isPresent(),
        "the harness has no view of the store's contents, and the store does not speak the Redis"
            + " protocol, so its entries cannot be counted");
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (int i = 0; i < clients; i++) {
      try (LockClient client = client()) {
        released = acquireAfter(released, client.lock(name)).release();
      }
    }
    assertFewMore(
        List.of(name), before.getAsLong(), clients / 2, clients + " clients that were closed");
  }

  // --- REL-06 ---

  @Rule("REL-06")
  @ResourceLock(STORE_ENTRIES)
  void leasesThatExpireLeaveNothingInTheClientOrOnTheStore() throws Exception {
    String prefix = newName();
    Optional<StoreView> view = kit().server().view();
    OtherProcess user = separateProcess(unrenewed());
    String[] answer =
        user.call(
                Duration.ofMinutes(4),
                ManyLeasesThatExpire.class,
                prefix,
                Long.toString(bound().toMillis()))
            .split(" ", 2);
    boolean counted = !answer[1].equals(ManyLeasesThatExpire.NOT_COUNTED);
    assertTrue(
        !counted || answer[1].equals("{}"),
        () -> "leases that expired have left objects in the client, in every round: " + answer[1]);
    assertTrue(
        Integer.parseInt(answer[0]) <= UseManyNames.MAX_ADDED_THREADS,
        () -> "leases that expired keep " + answer[0] + " more threads");
    if (view.isPresent()) {
      // A store may clean up when it is used next.
      acquireUndoubted(client()).release();
      awaitNoResidue(view.get(), prefix, "leases that expired left something on the store");
    }
    if (!counted) {
      throw new NotTestedException(
          "the JVM does not count its objects by class; HotSpot does, with the module"
              + " jdk.management");
    }
  }
}
