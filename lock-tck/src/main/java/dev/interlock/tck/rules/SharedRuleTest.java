package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.NotApplicableException;
import dev.interlock.tck.run.NotTestedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Base of the rules about names that several can hold together. */
abstract class SharedRuleTest extends RuleTest {

  /** Long enough for a waiter to enter the queue, or to poll again. */
  static final Duration MOMENT = Duration.ofMillis(200);

  /**
   * A kind of lock that several can hold together.
   *
   * @param some what two can hold together
   * @param whole what excludes all others
   * @param task acquires some in another process
   */
  record Sharing(LockKind kind, Way some, Way whole, Class<? extends RemoteTask> task) {}

  /** {@return the kind of this section} */
  abstract Sharing sharing();

  final Acquirable<Lease> some(LockClient client, String name) {
    return sharing().some().of(client, name);
  }

  final Acquirable<Lease> whole(LockClient client, String name) {
    return sharing().whole().of(client, name);
  }

  /** Renews a lease that must be held. */
  private void assertRenewed(Lease lease, String otherwise) throws InterruptedException {
    try {
      renewNow(lease, bound());
    } catch (LeaseLostException e) {
      fail(otherwise, e);
    }
  }

  // --- without the capability ---

  /** Checks that a client refuses what its backend cannot do, without asking the store. */
  final void assertNotOffered(Way way) throws Exception {
    LockClient client;
    if (cannotHappen(Fault.PARTITION)) {
      client = client();
    } else {
      Network network = network();
      client = client(network, lasting());
      network.cut();
    }
    assertThrows(
        UnsupportedOperationException.class,
        () -> way.of(client, newName()),
        "a backend offers what it does not declare");
  }

  // --- who comes first ---

  /**
   * Some come and go without a break; another has to be served all the same.
   *
   * @param busy what those acquire again and again, each in two threads
   * @param hold for how long each holds
   * @param other what the other waits for
   */
  final void testStarvation(
      List<Acquirable<Lease>> busy, Duration hold, Acquirable<Lease> other, String otherwise)
      throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger grants = new AtomicInteger();
    List<Future<?>> threads = new ArrayList<>();
    for (int i = 0; i < 2 * busy.size(); i++) {
      Acquirable<Lease> lock = busy.get(i % busy.size());
      threads.add(
          inThread(
              () -> {
                while (!stop.get()) {
                  try (Lease lease = lock.acquire()) {
                    grants.incrementAndGet();
                    letPass(hold);
                    assertTrue(lease.remainingValidity().toNanos() >= 0);
                  }
                }
                return null;
              }));
    }
    eventually(timing().longTtl(), () -> grants.get() >= 2 * busy.size(), "nothing is granted");
    Lease served = acquireWithin(renewed().ttl().multipliedBy(3).plus(bound()), other, otherwise);
    stop.set(true);
    served.release();
    for (Future<?> thread : threads) {
      within(timing().longTtl(), thread, "a busy thread is stuck");
    }
  }

  // --- each hold by itself ---

  /**
   * Of two that hold together one is renewed, and the other expires.
   *
   * @param expiringFirst whether the one that expires is granted first
   */
  final void testExpiryOfOne(boolean expiringFirst) throws Exception {
    String name = newName();
    LockClient lasting = client();
    LockClient expiring = client(passing());
    Lease before = acquireNow(some(expiringFirst ? expiring : lasting, name));
    Lease after = acquireNow(some(expiringFirst ? lasting : expiring, name));
    Lease renewed = expiringFirst ? after : before;
    Lease passing = expiringFirst ? before : after;
    LockClient observer = client();
    eventually(
        untilEnd(passing),
        () -> observer.inspect(name).holders().size() <= 1,
        "one of two holds did not end at its own TTL");
    assertFalse(passing.isHeld(), "the store ended a hold that was valid");
    assertTrue(renewed.isHeld(), "the end of one hold ended another");
    assertRefused(whole(observer, name), "the expiry of one hold freed the others");
    assertRenewed(renewed, "the end of one hold ended another");
    ReleaseOutcome outcome = renewed.release();
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, "the end of one hold ended another");
    acquireAfter(outcome, whole(observer, name), "something is held after the last hold has ended")
        .release();
  }

  final void testReleaseOfOne() throws Exception {
    String name = newName();
    LockClient client = client();
    Lease released = acquireNow(some(client, name));
    Lease other = acquireNow(some(client(), name));
    ReleaseOutcome outcome = released.release();
    Lease replacing =
        outcome == ReleaseOutcome.UNKNOWN ? null : acquireAfter(outcome, some(client, name));
    assertEquals(outcome, released.release(), "the outcome of a repeated release");
    released.close();
    assertFalse(released.isHeld(), "held after its release");
    for (Lease held : replacing == null ? List.of(other) : List.of(other, replacing)) {
      assertTrue(held.isHeld(), "a release ended the hold of another");
      assertRenewed(held, "a release ended the hold of another");
    }
    LockClient observer = client();
    assertRefused(whole(observer, name), "a release freed the holds of others");
    if (replacing != null) {
      assertReleased(replacing, "a repeated release took a hold of the same client");
      assertRefused(whole(observer, name), "a release freed the holds of others");
    }
    outcome = other.release();
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, "a release freed the holds of others");
    acquireAfter(outcome, whole(observer, name), "not free after the last release").release();
  }

  final void testEndedHold() throws Exception {
    String name = newName();
    Lease stale = acquireNow(some(client(passing()), name));
    Lease successor =
        acquireWithin(untilEnd(stale), whole(client(), name), "a hold did not expire");
    assertThrows(
        LeaseLostException.class,
        () -> renewNow(stale, bound()),
        "an ended hold was renewed beside its successor");
    stale.release();
    stale.close();
    assertTrue(successor.isHeld(), "an ended hold ended its successor");
    assertRenewed(successor, "an ended hold ended its successor");
    assertRefused(some(client(), name), "an ended hold freed its successor's");
    assertReleased(successor, "an ended hold freed its successor's");
  }

  /** Takes some of the name that is the first argument, and keeps it. */
  abstract static class TakeSome implements RemoteTask {
    abstract Acquirable<Lease> some(LockClient client, String name);

    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Lease lease = some(worker.client(), arguments.get(0)).acquire();
      worker.keep(arguments.get(0), lease);
      return lease.effectiveTtl().toString();
    }
  }

  final void testKilledHolder() throws Exception {
    String name = newName();
    OtherProcess process = process(renewed());
    Duration ttl = Duration.parse(process.call(bound().multipliedBy(2), sharing().task(), name));
    Lease survivor = acquireNow(some(client(), name));
    Future<Lease> waiter = inThread(whole(client(), name)::acquire);
    never(MOMENT, waiter, "the whole was granted while others held a part");
    process.kill();
    LockClient observer = client();
    eventually(
        ttl.plus(bound()),
        () -> observer.inspect(name).holders().size() <= 1,
        "the hold of a killed process did not end");
    assertRenewed(survivor, "the death of one holder ended the hold of another");
    assertFalse(waiter.isDone(), "the death of one holder ended the hold of another");
    survivor.release();
    within(waiter, "the hold of a killed process did not end").release();
  }

  // --- lost answers, and waiters that leave ---

  /** Loses the answer to an attempt of a client that is back at once. */
  final void testLostAnswer(Way way) throws Exception {
    String name = newName();
    Network network = network();
    LockClient unlucky = client(network, lasting());
    acquireNow(unlucky.lock(newName())).release();
    Future<Optional<Lease>> attempt;
    try (Disturbance lost = network.everywhere(proxy -> proxy.loseReplies(name))) {
      attempt = inThread(way.of(unlucky, name)::tryAcquire);
      if (!lost.awaitHit(bound())) {
        throw new NotTestedException("the lock's name was not seen in any request of the client");
      }
    } // resets the connection, so that the client may try again
    try {
      within(attempt, "the attempt did not end").ifPresent(Lease::release);
    } catch (LockUnavailableException e) {
      // the answer was lost
    }
    acquireWithin(
            bound().multipliedBy(2),
            whole(client(), name),
            "a grant whose answer was lost was not undone by its client")
        .release();
  }

  /** Loses the answer to an attempt of a client that never comes back. */
  final void testLostClient(Way way) throws Exception {
    for (Duration patience : List.of(Duration.ZERO, bound())) { // it gets in line only to wait
      String name = newName();
      Network network = network();
      LockClient unlucky = client(network, passing());
      acquireNow(unlucky.lock(newName())).release();
      try (Disturbance lost = network.everywhere(proxy -> proxy.loseReplies(name))) {
        var unused = inThread(() -> way.of(unlucky, name).tryAcquire(patience));
        if (!lost.awaitHit(bound())) {
          throw new NotTestedException("the lock's name was not seen in any request of the client");
        }
        Disturbance gone = network.partition(); // the client can neither continue nor undo
        acquireWithin(
                timing().ttl().multipliedBy(2).plus(bound()),
                whole(client(), name),
                "the grant to a client that vanished did not expire")
            .release();
        gone.close();
      }
    }
  }

  /** How long a store without a queue may remember a waiter that has left. */
  final Duration reserved() {
    return has(Capability.FIFO)
        ? bound()
        : lasting().pollInterval().plus(lasting().requestTimeout()).plus(bound());
  }

  /** Those who want all give up while others hold some, and then those who want some. */
  final void testWaitersThatLeave() throws Exception {
    String name = newName();
    LockClient waiting = client();
    Lease some = acquireNow(some(client(), name));
    giveUpInEachWay(waiting, whole(waiting, name));
    Lease beside =
        acquireWithin(reserved(), some(client(), name), "a waiter that gave up keeps others out");
    beside.release();
    ReleaseOutcome outcome = some.release();
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, "a waiter that gave up freed a hold");
    Lease all = acquireWithin(whole(client(), name), "a waiter that gave up became the holder");
    giveUpInEachWay(waiting, some(waiting, name));
    assertReleased(all, "a waiter that gave up freed a hold");
    acquireWithin(reserved(), whole(client(), name), "a waiter that gave up became the holder")
        .release();
    eventually(
        () -> waiting.inspect(name).waiters().isEmpty(), "a waiter that gave up is in the queue");
    if (kit().server().view().isPresent()) {
      awaitNothing(view(kit().server()), name, "waiters that gave up left something on the store");
    }
  }

  /** One who wants all leaves the queue; one behind it, who wants some, has to be let in. */
  final void testWaiterBehindOneThatLeaves() throws Exception {
    for (boolean closed : List.of(false, true)) {
      String name = newName();
      LockClient observer = client();
      Lease held = acquireNow(some(observer, name));
      LockClient leaving = client();
      CompletableFuture<Lease> inTheWay = whole(leaving, name).acquireAsync();
      awaitQueued(observer, name, 1);
      never(MOMENT, inTheWay, "granted beside a holder that excludes it");
      Future<Lease> behind = inThread(some(client(), name)::acquire);
      awaitQueued(observer, name, 2);
      if (closed) {
        leaving.close();
      } else {
        inTheWay.cancel(true);
      }
      Lease served =
          within(reserved(), behind, "a waiter that left the queue still keeps others waiting");
      assertTrue(held.isHeld(), "a holder was ended by one who came later");
      served.release();
      held.release();
    }
  }

  private void giveUpInEachWay(LockClient waiting, Acquirable<Lease> wanted) throws Exception {
    assertRefused(wanted, "granted beside a holder that excludes it");
    CompletableFuture<Lease> cancelled = wanted.acquireAsync();
    CompletableFuture<Thread> self = new CompletableFuture<>();
    Future<Boolean> interrupted =
        inThread(
            () -> {
              self.complete(Thread.currentThread());
              try {
                wanted.acquire().release();
                return false;
              } catch (InterruptedException e) {
                return true;
              }
            });
    assertNotAcquired(wanted.tryAcquireAsync(MOMENT), MOMENT);
    within(self, "the thread did not start").interrupt();
    assertTrue(within(interrupted, "an interrupted waiter did not leave"), "acquired meanwhile");
    assertTrue(cancelled.cancel(true), "acquired meanwhile");
    assertTrue(waiting.held().isEmpty(), "a client holds what it gave up");
  }

  // --- losses ---

  final void testLossOfAll() throws Exception {
    String name = newName();
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      leases.add(acquireNow(some(client(renewed()), name)));
    }
    takeAway(name);
    Duration limit = renewed().ttl().dividedBy(2).plus(bound());
    for (Lease lease : leases) {
      LeaseLostException loss =
          within(limit, lease.lost(), "the loss of one of several holders was not signalled");
      assertNotEquals(LossReason.CLOSED, loss.reason());
      assertFalse(lease.isHeld(), "held after its loss");
      assertThrows(
          LeaseLostException.class, lease::renew, "a hold that was taken away was renewed");
    }
    acquireWithin(whole(client(), name), "not free after it was taken away").release();
  }

  final void testLossOfOne() throws Exception {
    String name = newName();
    Lease stays = acquireNow(some(client(), name));
    Lease passing = acquireNow(some(client(passing()), name));
    LeaseLostException loss =
        within(untilEnd(passing), passing.lost(), "the end of a hold was not reported");
    assertEquals(LossReason.EXPIRED, loss.reason());
    assertTrue(stays.isHeld(), "the end of one hold ended another");
    never(MOMENT, stays.lost(), "the end of one hold was reported to another");
    stays.release();
  }

  final void testHolderThatIsCutOff() throws Exception {
    String name = newName();
    Network network = network();
    Lease cutOff = acquireNow(some(client(network, renewed()), name));
    Future<Boolean> overlap =
        inThread(
            () -> {
              try (Lease next = whole(client(), name).acquire()) {
                return cutOff.isHeld() && next.isHeld();
              }
            });
    never(MOMENT, overlap, "the whole was granted while another held a part");
    Disturbance partition = network.partition();
    within(
        untilEnd(cutOff), cutOff.lost(), "the loss of a holder that is cut off was not signalled");
    assertFalse(
        within(untilEnd(cutOff), overlap, "the hold of a client that is cut off did not end"),
        "the whole was granted while another held a part");
    assertStruck(partition);
  }

  // --- inspection and intervention ---

  final void testInspection() throws Exception {
    String name = newName();
    LockClient observer = client();
    List<Lease> leases = new ArrayList<>();
    for (String label : List.of("the first holder", "the second holder")) {
      leases.add(acquireNow(some(client(lasting().toBuilder().holder(label).build()), name)));
    }
    List<LockState> seen = new ArrayList<>(List.of(answer(() -> observer.inspect(name))));
    if (has(Capability.LIST)) {
      try (Stream<LockState> listed = answer(() -> observer.list(name))) {
        listed.forEach(seen::add);
      }
      assertEquals(2, seen.size(), "how often a name with two holders is listed");
    }
    for (LockState state : seen) {
      assertEquals(Optional.of(sharing().kind()), state.kind(), "the kind shown");
      assertEquals(2, state.holders().size(), () -> "the holders shown: " + state.holders());
      for (int i = 0; i < 2; i++) {
        assertShown(state.holders().get(i), leases.get(i), i == 0 ? "the first" : "the second");
      }
    }
    ReleaseOutcome outcome = leases.get(0).release();
    LockState rest = answer(() -> observer.inspect(name));
    if (outcome == ReleaseOutcome.RELEASED) {
      assertEquals(1, rest.holders().size(), () -> "the holders shown: " + rest.holders());
      assertShown(rest.holders().get(0), leases.get(1), "the second");
    }
    assertSeenFree(observer, name, leases.get(1).release());
  }

  private static void assertShown(LockState.Holder holder, Lease lease, String which) {
    assertEquals(1, holder.weight(), "the weight shown");
    holder.label().ifPresent(label -> assertEquals(which + " holder", label, "the label shown"));
    holder
        .fencingToken()
        .ifPresent(token -> assertEquals(lease.fencingToken(), token, "the token shown"));
    holder
        .remaining()
        .ifPresent(
            remaining ->
                assertTrue(
                    remaining.toNanos() > 0
                        && remaining.compareTo(lease.effectiveTtl().plusSeconds(2)) <= 0,
                    () -> "remaining " + text(remaining) + " of " + lease.effectiveTtl()));
  }

  final void testForcedRelease() throws Exception {
    String name = newName();
    LockClient operator = client();
    List<Lease> forced =
        List.of(acquireNow(some(client(), name)), acquireNow(some(client(), name)));
    forceRelease(operator, name, "a held name was reported as free");
    Lease next = acquireNow(whole(operator, name), "a forced release left a holder");
    for (Lease lease : forced) {
      if (has(Capability.FENCING)) {
        assertTrue(
            next.fencingToken() > lease.fencingToken(),
            "the token does not tell a forced hold from its successor");
      }
      lease.release();
    }
    assertTrue(next.isHeld(), "the release of a forced hold touched its successor");
    assertRenewed(next, "the release of a forced hold touched its successor");
    next.release();
  }

  final void testRevocation() throws Exception {
    if (!has(Capability.REVOKE)) {
      throw new NotApplicableException(info().name() + " does not declare REVOKE");
    }
    String name = newName();
    LockClient operator = client();
    List<Lease> revoked =
        List.of(
            acquireNow(some(client(renewed()), name)), acquireNow(some(client(renewed()), name)));
    Future<Boolean> overlap =
        inThread(
            () -> {
              try (Lease next = whole(operator, name).acquire()) {
                return revoked.stream().anyMatch(Lease::isHeld) && next.isHeld();
              }
            });
    AtomicBoolean inDoubt = new AtomicBoolean(); // a repeated request may find it revoked
    assertTrue(
        answer(
            () -> {
              boolean asked = inDoubt.getAndSet(true);
              return operator.revoke(name) || asked;
            }),
        "a held name was reported as free");
    assertFalse(
        within(untilEnd(revoked.get(0)), overlap, "a revoked hold did not end"),
        "the whole was granted while a revoked hold was still valid");
    revoked.forEach(lease -> assertFalse(lease.isHeld(), "a revoked hold was renewed"));
  }

  // --- one kind ---

  /**
   * Checks that a name that is held in one way cannot be acquired in another, by whichever method,
   * and that the attempts have no effect.
   */
  final void testDisagreement(Way present, Way other) throws Exception {
    String name = newName();
    LockClient holder = client();
    Lease held = acquireNow(present.of(holder, name));
    for (LockClient client : List.of(holder, client())) {
      Acquirable<Lease> wrong = other.of(client, name);
      assertDisagrees(wrong::tryAcquire);
      assertDisagrees(() -> wrong.tryAcquire(bound()));
      assertDisagrees(wrong::acquire);
      assertDisagrees(() -> within(wrong.acquireAsync(), "a refused attempt waited"));
      assertDisagrees(() -> within(wrong.tryAcquireAsync(), "a refused attempt waited"));
    }
    LockClient observer = client();
    LockState state = answer(() -> observer.inspect(name));
    assertEquals(1, state.holders().size(), () -> "the holders shown: " + state.holders());
    eventually(
        () -> observer.inspect(name).waiters().isEmpty(), "a refused attempt is in the queue");
    assertRenewed(held, "a refused attempt freed what was held");
    ReleaseOutcome outcome = held.release();
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, "a refused attempt freed what was held");
    // Free, so it may be used as anything.
    Lease next =
        acquireAfter(outcome, other.of(observer, name), "a refused attempt left something");
    assertDisagrees(present.of(holder, name)::tryAcquire);
    assertSeenFree(observer, name, next.release());
    if (kit().server().view().isPresent()) {
      awaitNothing(view(kit().server()), name, "a refused attempt left something on the store");
    }
  }

  /** Checks that somebody who only waits cannot be joined in another way. */
  final void testDisagreementWithAWaiter(Way present, Way other) throws Exception {
    String name = newName();
    Lease held = acquireNow(present.of(client(), name));
    LockClient waiting = client();
    Future<Lease> waiter = inThread(whole(waiting, name)::acquire);
    awaitQueued(client(), name, 1);
    never(MOMENT, waiter, "granted beside a holder that excludes it");
    assertDisagrees(() -> other.of(client(), name).tryAcquire(bound()));
    assertReleased(held, "a refused attempt freed what was held");
    within(waiter, "a refused attempt kept a waiter waiting").release();
  }

  private void assertDisagrees(Question<?, Exception> attempt) throws Exception {
    try {
      Object granted = answer(attempt);
      fail("a name was acquired in two ways, which exclude each other by chance only: " + granted);
    } catch (LockConfigurationException e) {
      assertTrue(
          String.valueOf(e.getMessage()).contains("in use"),
          () -> "the message does not say what is wrong: " + e.getMessage());
    } catch (LockException e) {
      fail("another kind of lock was reported as a failure of the store: " + e, e);
    }
  }
}
