package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.MultiLock;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.ActiveFault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Scenarios in which one answer of the store is lost or replaced by an error. Each checks the
 * client's reports afterwards, and that nothing is left on the store.
 */
final class SpoiledAnswers {
  /** Number of answers to one call that are spoiled, each in a run of its own. */
  static final int ANSWERS_PER_CALL = 3;

  private static final Duration SHORT_TIMEOUT = Duration.ofMillis(300);

  /** Time for a waiter to send its further requests, if it sends any. */
  private static final Duration FURTHER_REQUEST_TIME = Duration.ofSeconds(1);

  /** Time for late false reports after the last scenario. */
  private static final Duration FALSE_REPORT_WAIT = Duration.ofSeconds(1);

  private final RuleTest test;
  private final Spoiler spoiler;
  private final LockClient client;
  private final LockClient other;
  private final Queue<LockEvent.Lost> losses = new ConcurrentLinkedQueue<>();
  private final Set<String> expiredNames = new HashSet<>();
  private final List<CompletableFuture<LeaseLostException>> released = new ArrayList<>();
  private int answersBefore;
  private String name = "";

  /** Whether the lease that the scenario checks has outlived its validity. */
  private boolean outlived;

  private SpoiledAnswers(RuleTest test, Spoiler spoiler) {
    this.test = test;
    this.spoiler = spoiler;
    this.client = open();
    this.other = test.client(options());
  }

  /**
   * Runs a scenario once for each of the first answers to a call, with the same client throughout.
   * The proxies are used concurrently.
   */
  static void each(RuleTest test, List<Spoiler> spoilers, RuleTest.Action<SpoiledAnswers> scenario)
      throws Exception {
    List<Future<Boolean>> runs = new ArrayList<>();
    for (Spoiler spoiler : spoilers) {
      runs.add(test.inThread(() -> new SpoiledAnswers(test, spoiler).runAll(scenario)));
    }
    for (Future<Boolean> run : runs) {
      test.within(
          Duration.ofMinutes(4), run, "a scenario with a lost or refused answer did not end");
    }
  }

  private boolean runAll(RuleTest.Action<SpoiledAnswers> scenario) throws Exception {
    for (answersBefore = 0; answersBefore < ANSWERS_PER_CALL; answersBefore++) {
      int attempts = 3; // on a busy machine a lease may expire during the scenario
      while (!isTested(scenario, attempts == 1)) {
        expiredNames.add(name);
        attempts--;
      }
    }
    RuleTest.sleep(FALSE_REPORT_WAIT);
    for (CompletableFuture<LeaseLostException> lost : released) {
      assertFalse(
          lost.isDone(), () -> "onLoss() completed for a lease that was released: " + lost.join());
    }
    losses.removeIf(lost -> expiredNames.stream().anyMatch(lost.name()::startsWith));
    assertEquals(List.of(), List.copyOf(losses), "leases that were not lost were reported as lost");
    return true;
  }

  /** {@return false if a lease expired during the scenario} */
  private boolean isTested(RuleTest.Action<SpoiledAnswers> scenario, boolean required)
      throws Exception {
    name = test.newName();
    outlived = false;
    try {
      scenario.on(this);
      return required || !hasExpired();
    } catch (AssertionError | LockException e) {
      boolean expired = e instanceof LeaseLostException lost && lost.reason() == LossReason.EXPIRED;
      if (!required && (outlived || expired)) {
        return false;
      }
      throw new AssertionError(
          "answer " + (answersBefore + 1) + " " + spoiler.effect() + ": " + e.getMessage(), e);
    }
  }

  /** {@return whether a lease expired and the scenario did not notice} */
  private boolean hasExpired() {
    return losses.stream()
        .anyMatch(
            lost -> lost.name().startsWith(name) && lost.loss().reason() == LossReason.EXPIRED);
  }

  // --- shared by the scenarios ---

  /** {@return options whose TTL limits how long an attempt in doubt can block the lock} */
  private LockOptions options() {
    return test.options(test.timing().renewedTtl(), true);
  }

  private Duration untilExpired() {
    return test.timing().renewedTtl().multipliedBy(2).plus(test.bound());
  }

  /** {@return a client behind the spoiler, connected and with its classes loaded} */
  private LockClient open() {
    LockClient opened = test.client(spoiler.uri(), options());
    test.acquireNow(opened.lock(test.newName())).release();
    opened.onEvent(
        event -> {
          if (event instanceof LockEvent.Lost lost && lost.loss().reason() != LossReason.CLOSED) {
            losses.add(lost);
          }
        });
    return opened;
  }

  private ActiveFault spoil() {
    return spoiler.start().apply(answersBefore);
  }

  /** Checks that the first answer was spoiled. The backend decides whether there are more. */
  private void assertStruck(ActiveFault spoil) throws InterruptedException {
    RuleTest.assumeTestable(
        answersBefore > 0 || spoil.awaitHit(Duration.ofMillis(1)),
        "the fault had no effect: the client's requests do not pass the proxy");
  }

  /** Spoils an answer to a call. Returns the call's result, or empty if it failed. */
  private <T> Optional<T> spoiled(Callable<T> call) throws Exception {
    try (ActiveFault spoil = spoil()) {
      Optional<T> result = RuleTest.emptyOn(LockException.class, call);
      assertStruck(spoil);
      return result;
    }
  }

  private Lease longHeldBy(LockClient holder) {
    return test.acquireNow(holder.lock(name, RuleTest.renewed(test.timing().longTtl())));
  }

  private void assertFreeInTime(Duration limit) throws InterruptedException {
    test.assertFree(limit, other.lock(name), "no other client acquired the lock afterwards");
  }

  private void assertNobodyElse(String message) {
    test.assertRefused(other.lock(name), message);
  }

  /** Checks that the lease is still held and fully usable, unless its validity ends meanwhile. */
  private void assertWorks(Lease lease) throws Exception {
    if (!lease.isHeld()) {
      throw test.within(
          lease.onLoss(), "the lease is no longer held, and its loss was not reported");
    }
    long validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
    try {
      assertNobodyElse("another client acquired the lock of a lease that is held");
      RuleTest.renewNow(lease, test.bound());
      validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
      RuleTest.assertReleased(lease, "the store had freed the lock of a lease that is held");
    } catch (AssertionError | LeaseLostException e) {
      outlived = !lease.isHeld() && System.nanoTime() - validUntil >= 0;
      throw e;
    }
    assertFreeInTime(untilExpired());
  }

  // --- the scenarios ---

  void attempt() throws Exception {
    Optional<Lease> acquired =
        spoiled(
            () ->
                client
                    .lock(name)
                    .tryAcquire()
                    .orElseGet(() -> fail("a free lock was reported as held")));
    if (acquired.isPresent()) {
      assertWorks(acquired.get());
    } else {
      assertFreeInTime(untilExpired());
    }
    test.assertFree(
        untilExpired(), client.lock(name), "the client itself could not acquire the lock");
  }

  void attemptOnHeldLock() throws Exception {
    checkNotGranted(client.lock(name)::tryAcquire);
  }

  void waitingForHeldLock() throws Exception {
    checkNotGranted(() -> client.lock(name).tryAcquire(SHORT_TIMEOUT));
  }

  private void checkNotGranted(Callable<Optional<Lease>> attempt) throws Exception {
    Lease blocker = longHeldBy(other);
    Optional<Optional<Lease>> outcome = spoiled(attempt);
    assertTrue(outcome.flatMap(lease -> lease).isEmpty(), "a lock that is held was granted");
    RuleTest.assertReleased(blocker, "a lease was gone because another client had tried or waited");
    assertFreeInTime(untilExpired());
  }

  void waiting() throws Exception {
    Lease blocker = longHeldBy(other);
    ActiveFault spoil = spoil();
    CompletableFuture<Optional<Lease>> waiter =
        client.lock(name).tryAcquireAsync(untilExpired().multipliedBy(2));
    try (spoil) {
      boolean unused =
          spoil.awaitHit(answersBefore == 0 ? test.bound().dividedBy(2) : FURTHER_REQUEST_TIME);
      assertFalse(waiter.isDone() && granted(waiter), "a lock that is held was granted");
      RuleTest.assertReleased(blocker, "a lease was gone because another client was waiting");
      assertStruck(spoil);
    }
    Optional<Optional<Lease>> served =
        RuleTest.emptyOn( // a permanent failure ends a wait at once
            LockException.class,
            () -> test.within(untilExpired(), waiter, "the waiter was not served"));
    assertTrue(
        served.isPresent() || !spoiler.isHarmless(), "the wait ended because of forgotten scripts");
    if (served.isPresent()) {
      assertWorks(
          served.get().orElseGet(() -> fail("the waiter returned before its time-out had passed")));
    } else {
      assertFreeInTime(untilExpired());
    }
  }

  private static boolean granted(CompletableFuture<Optional<Lease>> waiter) {
    return !waiter.isCompletedExceptionally() && waiter.join().isPresent();
  }

  void renewal() throws Exception {
    Lease lease = longHeldBy(client);
    renewSpoiled(lease);
    assertWorks(lease);
  }

  /** The client then takes another permit. The two together leave none to others. */
  void renewalOfAPermit() throws Exception {
    if (!test.has(Capability.SEMAPHORE)) {
      return;
    }
    Acquirable<Lease> permit =
        Kind.ONE_PERMIT.of(client, name, RuleTest.renewed(test.timing().longTtl()));
    Lease first = test.acquireNow(permit);
    renewSpoiled(first);
    RuleTest.renewNow(first, test.bound());
    Lease second = test.acquireNow(permit);
    test.assertRefused(
        Kind.ONE_PERMIT.of(other, name), "a third of two permits was granted after a renewal");
    RuleTest.assertReleased(second, "a permit was gone after a renewal of another");
    RuleTest.assertReleased(first, "a permit that was renewed was gone");
    assertFreeInTime(untilExpired());
  }

  /** Renews several leases with one request, if the backend can. */
  void renewalOfASet() throws Exception {
    MultiLock set =
        client.multiLock(List.of(name, name + "-2"), RuleTest.renewed(test.timing().longTtl()));
    MultiLease lease =
        test.answer(() -> set.tryAcquire(untilExpired()))
            .orElseGet(() -> fail("a set of free locks was refused"));
    renewSpoiled(lease);
    RuleTest.renewNow(lease, test.bound());
    assertNobodyElse("another client acquired the lock of a set that is held");
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, lease.release(), "the outcome of releasing a set");
    assertFreeInTime(untilExpired());
  }

  private void renewSpoiled(Lease lease) throws Exception {
    spoiled(
        () -> {
          try {
            lease.renew();
            return true;
          } catch (LeaseLostException e) {
            return fail(
                "a lease that was not taken away was reported as lost: " + e.getMessage(), e);
          }
        });
  }

  void renewalInTheBackground() throws Exception {
    Lease lease = test.acquireNow(client.lock(name));
    CompletableFuture<LeaseLostException> lost = lease.onLoss();
    long validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
    try (ActiveFault spoil = spoil()) {
      if (!spoil.awaitHit(lease.effectiveTtl()) && lost.isDone()) {
        throw lost.join();
      }
      assertStruck(spoil);
    }
    try {
      LeaseLostException loss = lost.get(500, TimeUnit.MILLISECONDS);
      assertTrue(
          System.nanoTime() - validUntil >= 0,
          () -> "a lease was lost before its validity had ended: " + loss.getMessage());
      throw loss;
    } catch (TimeoutException e) {
      assertWorks(lease);
    }
  }

  void release() throws Exception {
    Lease lease = longHeldBy(client);
    released.add(lease.onLoss());
    ReleaseOutcome outcome;
    try (ActiveFault spoil = spoil()) {
      outcome = lease.release();
      assertStruck(spoil);
    }
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, "the outcome of releasing a held lease");
    assertFalse(lease.isHeld(), "a lease is still held after its release");
    assertFreeInTime(test.longLived().ttl().dividedBy(2));
    assertEquals(outcome, lease.release(), "the outcome of a repeated release");
    lease.close();
  }

  void deferredRelease() throws Exception {
    if (!test.has(Capability.DEFERRED_RELEASE)) {
      return; // the client sends nothing
    }
    // The first time, the client also asks again before the end.
    Duration minHold =
        Duration.ofMillis(1500)
            .plus(answersBefore == 0 ? test.longLived().requestTimeout() : Duration.ZERO);
    boolean closes = spoiler.isHarmless(); // the store must keep the lock then
    LockClient holder = closes ? open() : client;
    Consumer<LockOptions.Builder> kept =
        options -> options.ttl(test.timing().longTtl()).minHold(minHold);
    test.acquireNow(holder.lock(test.newName(), kept)).release(); // so that it knows the requests
    long before = System.nanoTime();
    Lease lease = test.acquireNow(holder.lock(name, kept));
    ReleaseOutcome outcome;
    try (ActiveFault spoil = spoil()) {
      outcome = lease.release();
      assertStruck(spoil);
    }
    assertNotEquals(
        ReleaseOutcome.ALREADY_LOST, outcome, "the outcome of a release before the minimum hold");
    if (closes) {
      holder.close();
    } else {
      released.add(lease.onLoss());
    }
    Lease next =
        test.acquireWithin(
            minHold.plus(test.bound().multipliedBy(2)),
            other.lock(name),
            "no other client acquired the lock afterwards");
    assertTrue(
        RuleTest.since(before).compareTo(minHold) >= 0,
        "the lock was free before its minimum hold was over");
    next.release();
    assertEquals(outcome, lease.release(), "the outcome of a repeated release");
  }

  void closing() throws Exception {
    LockClient closed = open();
    Lease lease = test.acquireNow(closed.lock(name));
    try (ActiveFault spoil = spoil()) {
      closed.close();
      assertStruck(spoil);
    }
    LeaseLostException loss =
        test.within(lease.onLoss(), "the holder was not notified that its client was closed");
    assertEquals(LossReason.CLOSED, loss.reason());
    assertFreeInTime(untilExpired());
  }

  void inspection() throws Exception {
    Lease lease = longHeldBy(other);
    for (boolean expected : new boolean[] {true, false}) {
      boolean seen = spoiled(() -> client.admin().inspect(name).isHeld()).orElse(expected);
      assertEquals(expected, seen, "whether inspection showed the lock as held");
      if (expected) {
        checkListing();
        RuleTest.assertReleased(lease, "a lease was gone because its lock was inspected");
        test.eventually(
            untilExpired(),
            () -> !other.admin().inspect(name).isHeld(),
            "the lock is still shown as held after its release");
      }
    }
    test.answer(() -> client.admin().inspect(name));
  }

  private void checkListing() throws Exception {
    if (test.has(Capability.LIST)) {
      RuleTest.Question<List<String>, RuntimeException> list =
          () -> client.admin().list(name).map(LockState::name).toList();
      String message = "the names that were listed";
      assertEquals(List.of(name), spoiled(list::ask).orElse(List.of(name)), message);
      assertEquals(List.of(name), test.answer(list), message);
    }
  }

  void forcedRelease() throws Exception {
    Lease forced = longHeldBy(other);
    Lease next =
        acquireAfter(
            () -> client.admin().forceRelease(name),
            test.bound(),
            "the lock is not free after its forced release");
    forced.release();
    RuleTest.assertHeld(next, "the release of a forced lease touched its successor");
    next.release();
  }

  void revocation() throws Exception {
    if (!test.has(Capability.REVOKE)) {
      return;
    }
    Lease revoked = test.acquireNow(other.lock(name));
    Lease next =
        acquireAfter(
            () -> client.admin().revoke(name),
            untilExpired(),
            "the lock is not free after it was revoked");
    assertFalse(
        revoked.isHeld(), "the successor acquired the lock while the lease was still valid");
    next.release();
  }

  /** Frees the lock while an answer is spoiled, and returns a third client's lease. */
  private Lease acquireAfter(Callable<Boolean> intervention, Duration limit, String message)
      throws Exception {
    Optional<Boolean> seen = spoiled(intervention);
    assertTrue(seen.orElse(true), "a held lock was reported as free");
    if (seen.isEmpty()) {
      var unused = test.answer(intervention::call);
    }
    return test.acquireWithin(limit, test.client(options()).lock(name), message);
  }

  /** Every request is refused for a while. */
  void refusedForAWhile() throws Exception {
    if (answersBefore > 0) {
      return;
    }
    Lease kept = longHeldBy(client);
    String second = test.newName();
    Lease releasedMeanwhile =
        test.acquireNow(client.lock(second, RuleTest.renewed(test.timing().longTtl())));
    released.add(releasedMeanwhile.onLoss());
    String third = test.newName();
    Lease others = test.acquireNow(other.lock(third, RuleTest.renewed(test.timing().longTtl())));
    CompletableFuture<Optional<Lease>> waiter =
        client.lock(third).tryAcquireAsync(untilExpired().multipliedBy(2));
    ReleaseOutcome outcome;
    try (ActiveFault spoil = spoil()) {
      outcome = releasedMeanwhile.release();
      for (String each : List.of(name, third, test.newName())) {
        Optional<Optional<Lease>> granted =
            RuleTest.emptyOn(LockException.class, client.lock(each)::tryAcquire);
        assertTrue(
            granted.flatMap(lease -> lease).isEmpty(),
            "a lock was granted although the store refused every request");
      }
      RuleTest.sleep(SHORT_TIMEOUT);
      RuleTest.assertHeld(kept, "a lease was lost before its validity was over");
      assertStruck(spoil);
    }
    assertEquals(
        ReleaseOutcome.UNKNOWN, outcome, "the outcome of a release that the store refused");
    RuleTest.assertReleased(others, "a lease was gone because another client was waiting");
    RuleTest.emptyOn( // a permanent failure ends a wait at once
            LockException.class,
            () -> test.within(untilExpired(), waiter, "the waiter was not served"))
        .ifPresent(lease -> lease.ifPresent(Lease::release));
    test.assertFree(
        test.longLived().ttl().dividedBy(2),
        other.lock(second),
        "a refused release was not repeated until it succeeded");
    RuleTest.renewNow(kept, test.bound());
    RuleTest.assertReleased(kept, "the store had freed the lock of a lease that is held");
    assertFreeInTime(untilExpired());
  }
}
