package dev.interlock.tck.rules;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** LOSS: losses are reported once and in time. */
public abstract class LossRules extends RuleTest {

  /** Counts the reports of one lease's loss, by event and by future. */
  private static final class Signals {
    final AtomicInteger future = new AtomicInteger();
    final Queue<LockEvent> events = new ConcurrentLinkedQueue<>();

    Signals(Lease lease) {
      lease.onEvent(events::add);
      var unused = lease.onLoss().thenAccept(loss -> future.incrementAndGet());
    }

    long lostEvents() {
      return events.stream().filter(LockEvent.Lost.class::isInstance).count();
    }
  }

  // --- LOSS-01 ---

  @Rule("LOSS-01")
  void aRenewedLeaseThatWasTakenAwayIsReportedOnce() throws Exception {
    String name = newName();
    // Long enough for a slow store to answer a renewal before the lease expires.
    LockOptions options = options(timing().renewedTtl().multipliedBy(2), true);
    Lease lease = acquireNow(client(options).lock(name));
    Signals signals = new Signals(lease);
    takeAway(name);
    LeaseLostException loss =
        within(
            maxLifetime(lease),
            lease.onLoss(),
            "the loss was not reported within a renewal interval");
    assertEquals(name, loss.name());
    assertTrue(
        loss.reason() == LossReason.TAKEN || loss.reason() == LossReason.SESSION_ENDED,
        () -> "the store reported that the lease is gone, but the reason is " + loss.reason());
    assertFalse(lease.isHeld(), "a lease is still held after its loss was reported");
    assertReportedOnce(lease, signals);
  }

  @Rule("LOSS-01")
  void anExpiredLeaseIsReportedOnce() throws Exception {
    Lease lease = acquireNow(client(unrenewed()).lock(newName()));
    Signals signals = new Signals(lease);
    LeaseLostException loss =
        within(
            maxLifetime(lease),
            lease.onLoss(),
            "the end of a lease without renewal was not reported");
    assertEquals(LossReason.EXPIRED, loss.reason());
    assertFalse(lease.isHeld(), "a lease is still held after its loss was reported");
    assertReportedOnce(lease, signals);
  }

  @Rule("LOSS-02")
  void workUnderAnExpiringLeaseIsInterrupted() throws Exception {
    Lease lease = acquireNow(client(unrenewed()).lock(newName()));
    Future<Boolean> work =
        inThread(
            () -> {
              CountDownLatch never = new CountDownLatch(1);
              assertThrows(
                  LeaseLostException.class,
                  () ->
                      lease.callWhileHeld(
                          () -> {
                            never.await();
                            return true;
                          }));
              return Thread.currentThread().isInterrupted();
            });
    assertFalse(
        within(maxLifetime(lease), work, "a loss did not interrupt the work"),
        "the interrupt status was still set after callWhileHeld");
  }

  @Rule("LOSS-01")
  void aLossFoundByTheReleaseIsReportedOnce() throws Exception {
    // A busy store may not answer in time.
    assertTrue(
        anyOfThree(isLast -> isReportedByTheRelease()),
        "none of three releases reported its outcome");
  }

  /** {@return whether the release found the lease gone} */
  private boolean isReportedByTheRelease() throws Exception {
    String name = newName();
    Lease lease = acquireNow(client().lock(name));
    Signals signals = new Signals(lease);
    takeAway(name);
    if (lease.release() == ReleaseOutcome.UNKNOWN) {
      return false;
    }
    within(lease.onLoss(), "the release found the lease gone, and the loss was not reported");
    assertReportedOnce(lease, signals);
    return true;
  }

  private void assertReportedOnce(Lease lease, Signals signals) throws Exception {
    eventually(() -> signals.lostEvents() > 0, "listeners were not notified of the loss");
    lease.release();
    lease.close();
    sleep(renewed().ttl()); // time for a second report
    assertEquals(1, signals.lostEvents(), () -> "the loss was reported: " + signals.events);
    assertEquals(1, signals.future.get(), "completions of onLoss()");
    Signals late = new Signals(lease);
    eventually(
        () -> late.lostEvents() == 1, "a listener that was added after the loss was not notified");
    eventually(
        () -> late.future.get() == 1,
        "onLoss() did not complete when it was called after the loss");
  }

  @Rule({"LEASE-02", "LOSS-01"})
  void ofManyLeasesThatAreRenewedTogetherExactlyThoseThatAreGoneAreLost() throws Exception {
    assertTrue(anyOfThree(this::exactlyThoseThatAreGoneAreLost));
  }

  /** {@return false if no renewal was confirmed in time, and a lease said so} */
  private boolean exactlyThoseThatAreGoneAreLost(boolean lastAttempt) throws Exception {
    LockClient client = client(renewed());
    LockClient other = client();
    List<Acquirable<Lease>> wanted = new ArrayList<>();
    Map<String, Acquirable<Lease>> whole = new HashMap<>();
    List<String> taken = new ArrayList<>();
    for (Kind kind : kinds()) {
      int names = kind == Kind.LOCK ? 30 : 2;
      for (int i = 0; i < names; i++) {
        String name = newName();
        whole.put(name, kind.whole().of(other, name));
        if (i % 3 != 1) {
          taken.add(name); // so many that it is not enough to notice one at each renewal
        }
        for (int leases = kind == Kind.LOCK ? 1 : 2; leases > 0; leases--) {
          wanted.add(kind.of(client, name));
        }
      }
    }
    Collections.shuffle(wanted, new Random(wanted.size())); // always in the same way
    // All at once, so that they are due for renewal together.
    List<CompletableFuture<Lease>> granted = wanted.stream().map(Acquirable::acquireAsync).toList();
    allWithin(bound().multipliedBy(2), granted, "not all of many free locks were acquired");
    List<Lease> leases = granted.stream().map(CompletableFuture::join).toList();
    List<Future<Boolean>> overlaps = new ArrayList<>();
    for (String name : taken) {
      boolean unused; // it may have expired
      if (has(Capability.REVOKE) && taken.indexOf(name) % 3 == 0) {
        unused = answer(() -> other.admin().revoke(name));
        overlaps.add(
            overlap(
                requireNonNull(whole.get(name))::acquire,
                () -> leases.stream().anyMatch(each -> each.name().equals(name) && each.isHeld())));
      } else if (!kit().server().delete(name)) {
        unused = answer(() -> other.admin().forceRelease(name));
      }
    }
    Duration limit = renewed().ttl().dividedBy(2).plus(bound());
    for (Lease lease : leases) {
      if (taken.contains(lease.name())) {
        within(
            limit,
            lease.onLoss(),
            "of many leases that are gone, not all were reported within a renewal interval");
      }
    }
    for (Future<Boolean> overlap : overlaps) {
      assertFalse(
          within(renewed().ttl().plus(bound()), overlap, "no lock was free after its revocation"),
          "a lease that was revoked beside many others was still held by its client when another"
              + " client acquired the lock");
    }
    List<Lease> others = leases.stream().filter(lease -> !taken.contains(lease.name())).toList();
    CompletableFuture<?> loss =
        CompletableFuture.anyOf(
            others.stream().map(Lease::onLoss).toArray(CompletableFuture[]::new));
    sleepUnless(loss, renewed().ttl().multipliedBy(3));
    if (loss.isDone()) {
      LeaseLostException first = (LeaseLostException) loss.join();
      if (first.reason() != LossReason.EXPIRED || lastAttempt) {
        fail("one of many leases that are renewed together was lost: " + first, first);
      }
      return false;
    }
    for (Lease lease : others) {
      assertRefused(
          requireNonNull(whole.get(lease.name())),
          "the store freed the lock of one of many leases that are renewed together");
      assertReleased(
          lease, "the store had freed the lock of one of many leases that are renewed together");
    }
    return true;
  }

  private static void sleepUnless(Future<?> event, Duration duration) throws Exception {
    try {
      Object unused = event.get(duration.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // the usual case
    }
  }

  // --- LOSS-02 ---

  @Rule("LOSS-02")
  void aPartitionIsReportedByTheEndOfValidity() throws Exception {
    Network network = network();
    Lease lease = acquireNow(client(network, renewed()).lock(newName()));
    Disturbance partition = network.partition();
    assertReportedAtTheEnd(lease);
    assertStruck(partition);
  }

  @Rule("LOSS-02")
  void theLossesOfManyLeasesAreReportedByTheEndOfTheLast() throws Exception {
    Network network = network();
    LockClient client = client(network, unrenewed());
    List<CompletableFuture<LeaseLostException>> losses = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      losses.add(acquireNow(client.lock(newName())).onLoss());
    }
    Lease last = acquireNow(client.lock(newName()));
    network.partition();
    within(
        maxLifetime(last),
        CompletableFuture.allOf(losses.toArray(CompletableFuture[]::new)),
        "not all losses were reported by the end of validity");
  }

  @Rule("LOSS-02")
  void aStoppedServerIsReportedByTheEndOfValidity() throws Exception {
    Server server = ownServerWithNodes();
    Lease lease = acquireNow(client(server.uri(), renewed()).lock(newName()));
    each(server.nodes(), ServerNode::pause);
    try {
      assertReportedAtTheEnd(lease);
    } finally {
      each(server.nodes(), ServerNode::resume);
    }
  }

  /** Checks the loss of a lease that can no longer be renewed. */
  private void assertReportedAtTheEnd(Lease lease) throws Exception {
    LeaseLostException loss =
        within(
            maxLifetime(lease), lease.onLoss(), "the loss was not reported by the end of validity");
    assertFalse(lease.isHeld(), () -> "a lease is still held after its loss was reported: " + loss);
    assertEquals(
        Duration.ZERO, lease.remainingValidity(), "the validity that is left after the loss");
  }

  // --- LOSS-03, LOSS-04 ---

  @Rule("LOSS-03")
  void aReleaseIsNeverReportedAsALoss() throws Exception {
    LockClient client = client(renewed());
    List<Signals> all = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      Lease lease = acquireNow(client.lock(newName()));
      Signals signals = new Signals(lease);
      all.add(signals);
      if (i % 4 == 3) {
        sleep(Duration.ofMillis(i * 10L));
        renewNow(lease, bound());
      }
      if (i % 2 == 0) {
        lease.release();
      } else {
        lease.close();
      }
    }
    client.close();
    sleep(renewed().ttl().plus(Duration.ofSeconds(1)));
    for (Signals signals : all) {
      assertEquals(0, signals.lostEvents(), () -> "a release was reported as: " + signals.events);
      assertEquals(0, signals.future.get(), "onLoss() completed for a lease that was released");
    }
  }

  @Rule("LOSS-04")
  void badListenersAffectNoOtherLease() throws Exception {
    LockClient client = client(renewed());
    CountDownLatch blocked = new CountDownLatch(1);
    try {
      String bad = newName();
      Lease noisy = acquireNow(client.lock(bad));
      noisy.onEvent(
          event -> {
            throw new IllegalStateException("a listener that fails");
          });
      noisy.onEvent(event -> awaitQuietly(blocked));
      var unused =
          noisy
              .onLoss()
              .thenRun(
                  () -> {
                    awaitQuietly(blocked);
                    throw new IllegalStateException("an action that fails");
                  });
      client.onEvent(
          event -> {
            throw new IllegalStateException("a client's listener that fails");
          });
      renewNow(noisy, bound());
      takeAway(bad);

      String name = newName();
      Lease lease = acquireNow(client.lock(name));
      Signals signals = new Signals(lease);
      takeAway(name);
      within(
          maxLifetime(lease),
          lease.onLoss(),
          "the loss of a lease was not reported because another one has bad listeners");
      eventually(() -> signals.lostEvents() == 1, "listeners were not notified of the loss");
      Lease next = acquireNow(client.lock(newName()));
      renewNow(next, bound());
      next.release();
    } finally {
      blocked.countDown();
    }
  }

  // --- LOSS-05 ---

  /** Acquires a lock, keeps the lease, and returns the end of its validity. */
  static final class TakeUntil implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Lease lease = worker.client().lock(arguments.get(0)).acquire();
      worker.keep(arguments.get(0), lease);
      // The clock is read last, so that a pause in between makes the end later, never earlier.
      long remaining = lease.remainingValidity().toNanos();
      return Long.toString(System.nanoTime() + remaining);
    }
  }

  /**
   * Calls {@code isHeld()} until it returns false. Returns whether a call that began after the
   * given time returned true.
   */
  static final class AskUntilLost implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      Lease lease = worker.lease(arguments.get(0));
      long validUntil = Long.parseLong(arguments.get(1));
      while (true) {
        long asked = System.nanoTime();
        if (!lease.isHeld()) {
          return "lost";
        }
        if (asked - validUntil > 0) {
          return "held " + (asked - validUntil) / 1_000 + " us after its validity";
        }
      }
    }
  }

  @Rule("LOSS-05")
  void aStoppedProcessFindsItsLeaseLostOnTheFirstCall() throws Exception {
    requireSignals();
    String name = newName();
    OtherProcess holder = process(unrenewed());
    long validUntil = Long.parseLong(holder.call(bound().multipliedBy(2), TakeUntil.class, name));
    holder.order(AskUntilLost.class, name, Long.toString(validUntil));
    holder.stop();
    LockOptions options = longLived();
    Lease successor =
        acquireWithin(
            unrenewed().ttl().multipliedBy(2).plus(bound()),
            client(options).lock(name),
            "the stopped process still holds the lock");
    eventually(() -> System.nanoTime() - validUntil > 0, "the clock did not advance");
    holder.resume();
    assertEquals(
        "lost", holder.answer(bound().multipliedBy(2)), "a process that was stopped past its TTL");
    assertTrue(successor.isHeld());
    successor.release();
  }
}
