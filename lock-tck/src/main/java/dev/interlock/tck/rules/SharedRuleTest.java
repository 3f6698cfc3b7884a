package dev.interlock.tck.rules;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockState.Mode;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.run.LateError;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

/** Base of the rules about locks that several leases can hold together. */
abstract class SharedRuleTest extends RuleTest {

  static final String STILL_COUNTED =
      "a hold that has ended is still counted while another is held";

  private static final int MORE_THAN_HALF_A_PAGE = 60;

  private static final String OVERTAKEN = "a small request overtook one for the whole";

  /**
   * A kind of lock that several leases can hold together.
   *
   * @param some a share that two leases can hold together
   * @param whole the share that excludes all others
   */
  record Sharing(LockKind kind, Kind some, Kind whole) {}

  /** {@return the kind of lock under test} */
  abstract Sharing sharing();

  final Acquirable<Lease> some(LockClient client, String name) {
    return sharing().some().of(client, name);
  }

  final Acquirable<Lease> whole(LockClient client, String name) {
    return sharing().whole().of(client, name);
  }

  // --- without the capability ---

  /**
   * Checks that a client refuses a kind of lock that its backend lacks, without asking the store.
   */
  final void assertNotOffered(AcquirableFactory way) throws Exception {
    LockClient client = clientOfASilentStore();
    assertThrows(
        UnsupportedOperationException.class,
        () -> way.of(client, newName()),
        "the backend accepts a kind of lock that it does not declare");
  }

  // --- who comes first ---

  @Rule({"RW-02", "SEM-02"})
  void nobodyOvertakesARequestForTheWholeThatWaitsInTheQueue() throws Exception {
    require(Capability.FIFO);
    String name = newName();
    LockClient observer = client();
    LockClient holder = client();
    Lease first = acquireNow(some(holder, name));
    Future<Lease> large = inThread(whole(client(), name)::acquire);
    awaitQueued(observer, name, 1);
    assertRefused(some(holder, name), OVERTAKEN);
    assertRefused(some(observer, name), OVERTAKEN);
    List<Future<Lease>> small = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      small.add(inThread(some(client(), name)::acquire));
      awaitQueued(observer, name, 2 + i);
    }
    assertNever(SHORT_WAIT, small.get(0), OVERTAKEN);
    first.release();
    Lease all = within(large, "a request for the whole was not served");
    small.forEach(
        waiter ->
            assertFalse(waiter.isDone(), "a small request was granted beside one for the whole"));
    all.release();
    List<Lease> together = new ArrayList<>();
    for (Future<Lease> waiter : small) {
      together.add(within(waiter, "a waiter was not served although there is room for it"));
    }
    together.forEach(Lease::release);
  }

  @Rule({"RW-02", "SEM-02"})
  void anAttemptThatDoesNotWaitComesAfterARequestForTheWholeThatDoes() throws Exception {
    assumeApplicable(!has(Capability.FIFO), info().name() + " has a queue");
    String name = newName();
    LockClient other = client();
    Lease first = acquireNow(some(client(), name));
    Future<Lease> large = inThread(whole(client(), name)::acquire);
    Question<Boolean, RuntimeException> isRefused =
        () -> {
          Optional<Lease> small = some(other, name).tryAcquire();
          small.ifPresent(Lease::release);
          return small.isEmpty();
        };
    // Until the store knows that the other one waits, it may grant this.
    assertTrue(poll(bound(), SHORT_WAIT, isRefused), OVERTAKEN);
    for (int attempt = 0; attempt < 20; attempt++) {
      if (!answer(isRefused)) {
        throw new LateError(OVERTAKEN); // a waiter that asks again too late no longer counts
      }
    }
    first.release();
    within(large, "a request for the whole was not served").release();
  }

  @Rule({"RW-02", "SEM-02"})
  void aRequestForTheWholeIsServedWhileHoldersOfSomeComeAndGo() throws Exception {
    testStarvation(
        sharing().some(),
        Duration.ofMillis(100),
        sharing().whole(),
        "small requests starved one for the whole");
  }

  @Rule({"RW-02", "SEM-02"})
  void aRequestForSomeIsServedWhileHoldersOfTheWholeComeAndGo() throws Exception {
    testStarvation(
        sharing().whole(),
        Duration.ofMillis(20),
        sharing().some(),
        "requests for the whole starved a small one");
  }

  /** Checks that a client is served while six threads of three others acquire and release. */
  private void testStarvation(
      AcquirableFactory busyKind, Duration hold, AcquirableFactory otherKind, String message)
      throws Exception {
    String name = newName();
    BusyThreads busy = new BusyThreads(() -> sleep(hold));
    for (int c = 0; c < 3; c++) {
      busy.start(busyKind.of(client(renewed()), name), 2);
    }
    busy.awaitGrants(6);
    Duration limit = renewed().ttl().multipliedBy(3).plus(bound());
    Lease served = acquireWithin(limit, otherKind.of(client(renewed()), name), message);
    served.release();
    busy.stop();
  }

  // --- independent holds ---

  @Rule({"RW-03", "SEM-03"})
  void aHoldThatExpiresDoesNotShortenAnEarlierOne() throws Exception {
    testExpiryOfOne(false, false);
  }

  @Rule({"RW-03", "SEM-03"})
  void aHoldThatIsRenewedDoesNotLengthenAnEarlierOne() throws Exception {
    testExpiryOfOne(true, false);
  }

  @Rule({"RW-03", "SEM-03"})
  void aRenewalOfAHoldThatThenExpiresDoesNotShortenALaterOne() throws Exception {
    testExpiryOfOne(true, true);
  }

  @Rule({"RW-03", "SEM-03"})
  void theMinimumHoldOfOneChangesNoOther() throws Exception {
    String name = newName();
    LockClient observer = client();
    Lease lasting = acquireNow(some(client(), name));
    Duration minHold = timing().ttl();
    long before = System.nanoTime();
    Lease released =
        acquireNow(sharing().some().of(client(), name, options -> options.minHold(minHold)));
    assertDeferred(released.release().toString(), before, minHold);
    eventually(
        minHold.plus(bound()),
        () -> observer.admin().inspect(name).holders().size() <= 1,
        "a hold was kept beyond its minimum");
    assertRefused(whole(observer, name), "the minimum hold of one ended the hold of another");
    assertRenewed(lasting, "the minimum hold of one ended the hold of another");
    ReleaseOutcome outcome =
        assertReleased(lasting, "the minimum hold of one ended the hold of another");
    acquireAfter(outcome, whole(observer, name), "the name is still held after its minimum hold")
        .release();
  }

  /**
   * Lets one of two holds expire while the other is renewed.
   *
   * @param expiringFirst whether the one that expires is granted first
   * @param renewedOnce whether that one is renewed once, after both grants
   */
  private void testExpiryOfOne(boolean expiringFirst, boolean renewedOnce) throws Exception {
    String name = newName();
    LockClient lasting = client();
    LockClient expiring = client(renewedOnce ? expiring() : unrenewed());
    Lease before = acquireNow(some(expiringFirst ? expiring : lasting, name));
    Lease after = acquireNow(some(expiringFirst ? lasting : expiring, name));
    Lease renewed = expiringFirst ? after : before;
    Lease unrenewed = expiringFirst ? before : after;
    LockClient observer = client();
    if (renewedOnce) {
      renewInTime(unrenewed);
    }
    eventually(
        maxLifetime(unrenewed),
        () -> observer.admin().inspect(name).holders().size() <= 1,
        "one of two holds did not end at its own TTL");
    assertFalse(unrenewed.isHeld(), "the store ended a hold that was valid");
    assertHeld(renewed, "the end of one hold ended another");
    assertRefused(whole(observer, name), "the expiry of one hold freed the others");
    assertRenewed(renewed, "the end of one hold ended another");
    ReleaseOutcome outcome = assertReleased(renewed, "the end of one hold ended another");
    acquireAfter(
            outcome, whole(observer, name), "the name is still held after its last hold has ended")
        .release();
  }

  @Rule({"RW-04", "SEM-04"})
  void aReleaseEndsNoOtherHold() throws Exception {
    String name = newName();
    LockClient client = client();
    Lease released = acquireNow(some(client, name));
    Lease other = acquireNow(some(client(), name));
    ReleaseOutcome outcome = released.release();
    Lease replacing =
        outcome == ReleaseOutcome.UNKNOWN ? null : acquireAfter(outcome, some(client, name));
    assertEquals(outcome, released.release(), "the outcome of a repeated release");
    released.close();
    assertFalse(released.isHeld(), "a lease is still held after its release");
    for (Lease lease : replacing == null ? List.of(other) : List.of(other, replacing)) {
      assertHeld(lease, "a release ended the hold of another");
      assertRenewed(lease, "a release ended the hold of another");
    }
    LockClient observer = client();
    assertRefused(whole(observer, name), "a release freed the holds of others");
    if (replacing != null) {
      assertReleased(replacing, "a repeated release took a hold of the same client");
      assertRefused(whole(observer, name), "a release freed the holds of others");
    }
    outcome = assertReleased(other, "a release freed the holds of others");
    acquireAfter(outcome, whole(observer, name), "the lock is not free after the last release")
        .release();
  }

  @Rule({"RW-04", "SEM-04"})
  void anEndedHoldCannotTouchItsSuccessor() throws Exception {
    String name = newName();
    Lease stale = acquireNow(some(client(unrenewed()), name));
    Lease successor =
        acquireWithin(maxLifetime(stale), whole(client(), name), "a hold did not expire");
    assertThrows(
        LeaseLostException.class,
        () -> renewNow(stale, bound()),
        "an ended hold was renewed beside its successor");
    stale.release();
    stale.close();
    assertHeld(successor, "an ended hold ended its successor");
    assertRenewed(successor, "an ended hold ended its successor");
    assertRefused(some(client(), name), "an ended hold freed the hold of its successor");
    assertReleased(successor, "an ended hold freed the hold of its successor");
  }

  @Rule({"RW-03", "SEM-03"})
  void theHoldOfAKilledProcessEnds() throws Exception {
    String name = newName();
    OtherProcess process = process(renewed());
    Duration ttl = acquireIn(process, sharing().some(), name);
    String busyName = newName();
    acquireIn(process, sharing().some(), busyName);
    Lease busy = acquireNow(some(client(renewed()), busyName));
    Future<Lease> third = inThread(some(client(), busyName)::acquire);
    Lease survivor = acquireNow(some(client(), name));
    Future<Lease> waiter = inThread(whole(client(), name)::acquire);
    assertNever(SHORT_WAIT, waiter, "the whole was granted while others held some of it");
    process.kill();
    within(ttl.plus(bound()), third, STILL_COUNTED).release();
    busy.release();
    LockClient observer = client();
    eventually(
        ttl.plus(bound()),
        () -> observer.admin().inspect(name).holders().size() <= 1,
        "the hold of a killed process did not end");
    assertRenewed(survivor, "the death of one holder ended the hold of another");
    assertFalse(waiter.isDone(), "the death of one holder ended the hold of another");
    survivor.release();
    within(waiter, "the hold of a killed process did not end").release();
  }

  // --- lost answers, and waiters that leave ---

  @Rule({"RW-05", "SEM-05"})
  void aLostAnswerIsUndone() throws Exception {
    for (Kind kind : List.of(sharing().some(), sharing().whole())) {
      testLostAnswer(kind, sharing().whole());
    }
  }

  @Rule({"RW-05", "SEM-05"})
  void aClientThatVanishesWithALostAnswerLeavesNoOrphan() throws Exception {
    for (Kind kind : List.of(sharing().some(), sharing().whole())) {
      testLostClient(kind, sharing().whole());
    }
  }

  /** {@return how long the store may still count a waiter that has left} */
  final Duration waiterTimeout() {
    return has(Capability.FIFO)
        ? bound()
        : longLived().pollInterval().plus(longLived().requestTimeout()).plus(bound());
  }

  @Rule({"RW-05", "SEM-05"})
  void abandonedWaitsLeaveNothingBehind() throws Exception {
    String name = newName();
    LockClient waiting = client();
    Lease some = acquireNow(some(client(), name));
    abandonInEveryWay(waiting, whole(waiting, name));
    Lease beside =
        acquireWithin(
            waiterTimeout(), some(client(), name), "a waiter that has left keeps others out");
    beside.release();
    assertReleased(some, "a waiter that has left freed the hold of another");
    Lease all = acquireWithin(whole(client(), name), "a waiter that has left became the holder");
    abandonInEveryWay(waiting, some(waiting, name));
    assertReleased(all, "a waiter that has left freed the hold of another");
    assertFree(waiterTimeout(), whole(client(), name), "a waiter that has left became the holder");
    eventually(
        () -> waiting.admin().inspect(name).waiters().isEmpty(),
        "a waiter that has left is still in the queue");
    if (kit().server().view().isPresent()) {
      awaitNoResidue(
          view(kit().server()), name, "waiters that have left still have entries on the store");
    }
  }

  @Rule({"RW-05", "SEM-05"})
  void aSmallRequestBehindOneForTheWholeThatLeavesIsServed() throws Exception {
    for (boolean closed : List.of(false, true)) {
      String name = newName();
      LockClient observer = client();
      Lease holding = acquireNow(some(observer, name));
      LockClient leaving = client();
      CompletableFuture<Lease> waiterForWhole = whole(leaving, name).acquireAsync();
      awaitQueued(observer, name, 1);
      assertNever(
          SHORT_WAIT, waiterForWhole, "a request was granted beside a holder that excludes it");
      Future<Lease> behind = inThread(some(client(), name)::acquire);
      awaitQueued(observer, name, 2);
      if (closed) {
        leaving.close();
      } else {
        waiterForWhole.cancel(true);
      }
      Lease served =
          within(
              waiterTimeout(), behind, "a waiter that left the queue still keeps others waiting");
      assertHeld(holding, "a later request ended the lease of a holder");
      served.release();
      holding.release();
    }
  }

  @Rule({"RW-05", "SEM-05"})
  void waitersForTheWholeThatDieKeepNobodyOut() throws Exception {
    testDeadWaiters(sharing().some(), sharing().whole());
  }

  private void abandonInEveryWay(LockClient waiting, Acquirable<Lease> wanted) throws Exception {
    assertRefused(wanted, "a request was granted beside a holder that excludes it");
    CompletableFuture<Lease> cancelled = wanted.acquireAsync();
    Waiter<Lease> interrupted = new Waiter<>(wanted::acquire);
    assertNotAcquired(wanted.tryAcquireAsync(SHORT_WAIT), SHORT_WAIT);
    interrupted.interrupt();
    assertEquals(
        Optional.empty(),
        within(interrupted.outcome, "an interrupted waiter did not leave"),
        "the lease of an interrupted waiter");
    assertTrue(cancelled.cancel(true), "a waiter acquired although a holder excludes it");
    assertTrue(waiting.leases().isEmpty(), "a client has a lease of an abandoned attempt");
  }

  // --- losses ---

  @Rule({"RW-06", "SEM-06"})
  void everyHolderIsToldThatTheNameWasTakenAway() throws Exception {
    String name = newName();
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      leases.add(acquireNow(some(client(renewed()), name)));
    }
    takeAway(name);
    Duration limit = renewed().ttl().dividedBy(2).plus(bound());
    for (Lease lease : leases) {
      LeaseLostException loss =
          within(limit, lease.onLoss(), "the loss of one of several holders was not signalled");
      assertNotEquals(LossReason.CLOSED, loss.reason());
      assertFalse(lease.isHeld(), "a lease is still held after its loss was reported");
      assertThrows(
          LeaseLostException.class, lease::renew, "a hold that was taken away was renewed");
    }
    assertFree(whole(client(), name), "the lock is not free after it was taken away");
  }

  @Rule({"RW-06", "SEM-06"})
  void theEndOfAHoldIsReportedToNoOther() throws Exception {
    String name = newName();
    Lease stays = acquireNow(some(client(), name));
    Lease unrenewed = acquireNow(some(client(unrenewed()), name));
    LeaseLostException loss =
        within(maxLifetime(unrenewed), unrenewed.onLoss(), "the end of a hold was not reported");
    assertEquals(LossReason.EXPIRED, loss.reason());
    assertHeld(stays, "the end of one hold ended another");
    assertNever(SHORT_WAIT, stays.onLoss(), "the end of one hold was reported to another");
    stays.release();
  }

  @Rule({"RW-06", "SEM-06"})
  void aHolderThatIsCutOffHasEndedBeforeTheWholeIsGranted() throws Exception {
    String name = newName();
    Network network = network();
    Lease cutOff = acquireNow(some(client(network, renewed()), name));
    Future<Boolean> overlap = overlap(whole(client(), name)::acquire, cutOff::isHeld);
    assertNever(SHORT_WAIT, overlap, "the whole was granted while another held some of it");
    Disturbance partition = network.partition();
    within(
        maxLifetime(cutOff),
        cutOff.onLoss(),
        "the loss of a holder that is cut off was not signalled");
    assertFalse(
        within(maxLifetime(cutOff), overlap, "the hold of a client that is cut off did not end"),
        "the whole was granted while another held some of it");
    assertStruck(partition);
  }

  // --- inspection and intervention ---

  @Rule({"RW-08", "SEM-06"})
  void everyHolderIsShown() throws Exception {
    String name = newName();
    LockClient observer = client();
    List<Lease> leases = new ArrayList<>();
    for (String label : List.of("the first holder", "the second holder")) {
      leases.add(acquireNow(some(client(longLived().toBuilder().label(label).build()), name)));
    }
    for (LockState state : statesShown(observer, name)) {
      assertEquals(Optional.of(sharing().kind()), state.kind(), "the kind shown");
      assertEquals(2, state.holders().size(), () -> "the holders shown: " + state.holders());
      for (int i = 0; i < 2; i++) {
        assertShown(state.holders().get(i), leases.get(i), i == 0 ? "the first" : "the second");
      }
    }
    ReleaseOutcome outcome = leases.get(0).release();
    LockState remaining = answer(() -> observer.admin().inspect(name));
    if (outcome == ReleaseOutcome.RELEASED) {
      assertEquals(
          1, remaining.holders().size(), () -> "the holders shown: " + remaining.holders());
      assertShown(remaining.holders().get(0), leases.get(1), "the second");
    }
    assertSeenFree(observer, name, leases.get(1).release());
  }

  private void assertShown(LockState.Holder holder, Lease lease, String which) {
    assertTrue(
        holder.mode() == Mode.READ || holder.permits().equals(OptionalInt.of(1)),
        () -> which + " holder is shown as " + holder);
    assertShown(holder.label(), holder.fencingToken(), which + " holder", lease);
    Duration remaining = holder.remaining().orElse(lease.effectiveTtl());
    assertTrue(
        remaining.toNanos() > 0 && remaining.compareTo(lease.effectiveTtl().plusSeconds(2)) <= 0,
        () ->
            "remaining time shown: %s, with a TTL of %s"
                .formatted(remaining, lease.effectiveTtl()));
  }

  @Rule({"RW-08", "SEM-06"})
  void aListingShowsAllHoldersOfEveryNameAndNoneThatHasEnded() throws Exception {
    require(Capability.LIST);
    String prefix = newName();
    LockClient observer = client();
    List<LockClient> holders = List.of(labelled("the first"), labelled("the second"));
    // A name with one holder before or after those with two, wherever a page of rows may end.
    List<String> single = List.of(prefix + "/0", prefix + "/z");
    Lease ending = null;
    for (String name : single) {
      ending = acquireNow(some(client(unrenewed()), name));
      acquireNow(some(holders.get(0), name));
    }
    List<Integer> unused =
        UseManyNames.forEach(
            MORE_THAN_HALF_A_PAGE,
            i -> {
              holders.forEach(holder -> acquireNow(some(holder, prefix + "/1-" + i)));
              return i;
            });
    for (String name : single) {
      awaitEndListed(observer, name, 1, name.endsWith("z"), maxLifetime(requireNonNull(ending)));
    }
    List<LockState> listed = answer(() -> observer.admin().list(prefix).toList());
    assertEquals(MORE_THAN_HALF_A_PAGE + 2, listed.size(), "the number of names that are listed");
    for (LockState state : listed) {
      assertListedAs(answer(() -> observer.admin().inspect(state.name())), state);
    }
  }

  @Rule({"RW-08", "SEM-06"})
  void aForcedReleaseEndsAllHolds() throws Exception {
    testForcedRelease(sharing().some(), sharing().whole(), 2);
  }

  @Rule({"RW-08", "SEM-06"})
  void aHolderThatComesAfterARevocationDoesNotUndoIt() throws Exception {
    require(Capability.REVOKE);
    String name = newName();
    LockClient operator = client();
    Lease revoked = acquireNow(some(client(renewed()), name));
    answer(() -> operator.admin().revoke(name));
    Optional<Lease> later = answer(some(operator, name)::tryAcquire);
    within(
        revoked.effectiveTtl().plus(bound()),
        revoked.onLoss(),
        "a revoked lease was renewed after another had come");
    if (later.isPresent()) {
      assertReleased(later.get(), "a revocation ended the lease of a later holder");
    }
  }

  @Rule({"RW-08", "SEM-06"})
  void aRevocationEndsAllHoldsAndKeepsExclusion() throws Exception {
    require(Capability.REVOKE);
    testRevocation(sharing().some(), sharing().whole(), 2);
  }

  // --- one kind at a time ---

  /**
   * Checks that a name that is held as one kind cannot be acquired as another by any method, and
   * that the attempts have no effect.
   */
  final void testKindConflict(AcquirableFactory currentKind, AcquirableFactory otherKind)
      throws Exception {
    String name = newName();
    LockClient holder = client();
    Lease current = acquireNow(currentKind.of(holder, name));
    for (LockClient client : List.of(holder, client())) {
      Acquirable<Lease> wrong = otherKind.of(client, name);
      assertKindConflict(wrong::tryAcquire);
      assertKindConflict(() -> wrong.tryAcquire(bound()));
      assertKindConflict(wrong::acquire);
      assertKindConflict(() -> within(wrong.acquireAsync(), "a refused attempt waited"));
      assertKindConflict(() -> within(wrong.tryAcquireAsync(), "a refused attempt waited"));
    }
    LockClient observer = client();
    LockState state = answer(() -> observer.admin().inspect(name));
    assertEquals(1, state.holders().size(), () -> "the holders shown: " + state.holders());
    eventually(
        () -> observer.admin().inspect(name).waiters().isEmpty(),
        "a refused attempt is in the queue");
    assertRenewed(current, "a refused attempt freed the lock of its holder");
    ReleaseOutcome outcome =
        assertReleased(current, "a refused attempt freed the lock of its holder");
    // A free name may become any kind of lock.
    Lease next =
        acquireAfter(
            outcome, otherKind.of(observer, name), "the name is not free after a refused attempt");
    assertKindConflict(currentKind.of(holder, name)::tryAcquire);
    assertSeenFree(observer, name, next.release());
    if (kit().server().view().isPresent()) {
      awaitNoResidue(view(kit().server()), name, "a refused attempt left entries on the store");
    }
  }

  /** Checks that a name with a waiter of one kind cannot be acquired as another. */
  final void testKindConflictWithAWaiter(AcquirableFactory currentKind, AcquirableFactory otherKind)
      throws Exception {
    String name = newName();
    Lease current = acquireNow(currentKind.of(client(), name));
    LockClient waiting = client();
    Future<Lease> waiter = inThread(whole(waiting, name)::acquire);
    awaitQueued(client(), name, 1);
    assertNever(SHORT_WAIT, waiter, "a request was granted beside a holder that excludes it");
    assertKindConflict(() -> otherKind.of(client(), name).tryAcquire(bound()));
    assertReleased(current, "a refused attempt freed the lock of its holder");
    within(waiter, "a refused attempt kept a waiter waiting").release();
  }

  @Rule({"RW-09", "SEM-07"})
  void aNameIsInUseWhileItsNextWaiterIsCutOff() throws Exception {
    require(Capability.FIFO);
    String name = newName();
    Network network = network();
    LockClient observer = client();
    Lease first = acquireNow(whole(observer, name));
    Future<Lease> next = whole(client(network, longLived()), name).acquireAsync();
    awaitQueued(observer, name, 1);
    assertNever(SHORT_WAIT, next, "a request was granted beside a holder that excludes it");
    network.partition();
    first.release();
    try {
      Optional<Lease> other = answer(Kind.LOCK.of(observer, name)::tryAcquire);
      assertTrue(
          other.isPresent() && answer(() -> observer.admin().inspect(name)).waiters().isEmpty(),
          "a name was acquired in two ways: the store compares kinds with holders, but not with"
              + " waiters");
    } catch (LockConfigurationException e) {
      // as expected
    }
  }

  private void assertKindConflict(Question<?, Exception> attempt) throws Exception {
    try {
      Object granted = answer(attempt);
      fail("a name was acquired in two ways, which need not exclude each other: " + granted);
    } catch (LockConfigurationException e) {
      assertTrue(
          String.valueOf(e.getMessage()).contains("in use"),
          () -> "the message does not say what the name is in use as: " + e.getMessage());
    } catch (LockException e) {
      fail("another kind of lock was reported as a failure of the store: " + e, e);
    }
  }
}
