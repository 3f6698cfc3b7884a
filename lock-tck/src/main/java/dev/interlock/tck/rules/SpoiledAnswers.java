package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
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

/**
 * Scenarios in which one answer of the store is lost or replaced by an error. Each checks what the
 * client reports afterwards, and what is left on the store.
 */
final class SpoiledAnswers {
  /** How many of the answers to one call are spoiled, each in a separate run. */
  static final int ANSWERS = 3;

  private static final Duration PATIENCE = Duration.ofMillis(300);

  /** Within this time a waiter has sent its further requests, if it sends any. */
  private static final Duration FURTHER_REQUESTS = Duration.ofSeconds(1);

  /** Time for late false reports after the last scenario. */
  private static final Duration AFTERMATH = Duration.ofSeconds(1);

  private final RuleTest test;
  private final Spoiler spoiler;
  private final LockClient client;
  private final LockClient other;
  private final Queue<LockEvent.Lost> losses = new ConcurrentLinkedQueue<>();
  private final Set<String> ranOut = new HashSet<>();
  private final List<CompletableFuture<LeaseLostException>> released = new ArrayList<>();
  private int earlier;
  private String name = "";

  private SpoiledAnswers(RuleTest test, Spoiler spoiler) {
    this.test = test;
    this.spoiler = spoiler;
    this.client = open();
    this.other = test.client(options());
  }

  /**
   * Plays a scenario once for each of the first answers to a call, with the same client throughout.
   * Several proxies are used concurrently.
   */
  static void each(RuleTest test, List<Spoiler> ways, RuleTest.Action<SpoiledAnswers> scenario)
      throws Exception {
    List<Future<Boolean>> plays = new ArrayList<>();
    for (Spoiler way : ways) {
      plays.add(test.inThread(() -> new SpoiledAnswers(test, way).playAll(scenario)));
    }
    for (Future<Boolean> play : plays) {
      test.within(
          Duration.ofMinutes(4), play, "the lock did not work again after a spoiled answer");
    }
  }

  private boolean playAll(RuleTest.Action<SpoiledAnswers> scenario) throws Exception {
    for (earlier = 0; earlier < ANSWERS; earlier++) {
      int attempts = 3; // on a busy machine a lease may run out in the middle
      while (!isPlayed(scenario, attempts == 1)) {
        ranOut.add(name);
        attempts--;
      }
    }
    RuleTest.letPass(AFTERMATH);
    for (CompletableFuture<LeaseLostException> lost : released) {
      assertFalse(
          lost.isDone(), () -> "lost() completed for a lease that was released: " + lost.join());
    }
    losses.removeIf(lost -> ranOut.contains(lost.name()));
    assertEquals(List.of(), List.copyOf(losses), "leases that were not lost were reported as lost");
    return true;
  }

  /** {@return false if a lease ran out meanwhile} */
  private boolean isPlayed(RuleTest.Action<SpoiledAnswers> scenario, boolean required)
      throws Exception {
    name = test.newName();
    try {
      scenario.on(this);
      return required || !hasRunOut();
    } catch (AssertionError | LockException e) {
      if (!required
          && e instanceof LeaseLostException lost
          && lost.reason() == LossReason.EXPIRED) {
        return false;
      }
      throw new AssertionError(
          "answer " + (earlier + 1) + " " + spoiler.how() + ": " + e.getMessage(), e);
    }
  }

  /** Whether a lease has run out without the scenario noticing. */
  private boolean hasRunOut() {
    return losses.stream()
        .anyMatch(lost -> lost.name().equals(name) && lost.loss().reason() == LossReason.EXPIRED);
  }

  // --- shared by the scenarios ---

  /** {@return options whose TTL limits how long an attempt in doubt can block the lock} */
  private LockOptions options() {
    return test.options(test.timing().renewedTtl(), true);
  }

  private Duration untilExpired() {
    return test.timing().renewedTtl().multipliedBy(2).plus(test.bound());
  }

  /** {@return a client behind the spoiler that is connected and has loaded its classes} */
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
    return spoiler.spoils().apply(earlier);
  }

  /** Checks that the first answer was spoiled; whether there are more depends on the backend. */
  private void assertStruck(ActiveFault spoil) throws InterruptedException {
    RuleTest.assumeTestable(
        earlier > 0 || spoil.awaitHit(Duration.ofMillis(1)),
        "the client's requests do not pass the proxy that spoils their answers");
  }

  /** Spoils an answer to a call, and returns its result; empty if it failed. */
  private <T> Optional<T> spoiled(Callable<T> call) throws Exception {
    try (ActiveFault spoil = spoil()) {
      Optional<T> result = RuleTest.unless(LockException.class, call);
      assertStruck(spoil);
      return result;
    }
  }

  private Lease longHeldBy(LockClient holder) {
    return test.acquireNow(holder.lock(name, RuleTest.renewed(test.timing().longTtl())));
  }

  private void assertFreeInTime(Duration limit) throws InterruptedException {
    test.acquireWithin(limit, other.lock(name), "no other client acquired the lock").release();
  }

  private void assertNobodyElse(String otherwise) {
    test.assertRefused(other.lock(name), otherwise);
  }

  /** Checks that the lease is still held and fully usable. */
  private void assertWorks(Lease lease) throws Exception {
    try {
      assertTrue(lease.isHeld(), "the lease is no longer held");
      assertNobodyElse("another client acquired the lock of a lease that is held");
      RuleTest.renewNow(lease, test.bound());
      RuleTest.assertReleased(lease, "the lease was gone");
    } catch (AssertionError e) {
      if (lease.isHeld()) {
        throw e;
      }
      try {
        throw lease.onLoss().get(1, TimeUnit.SECONDS);
      } catch (TimeoutException notLost) {
        throw e;
      }
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
    test.acquireWithin(
            untilExpired(), client.lock(name), "the client itself could not acquire the lock")
        .release();
  }

  void attemptInVain() throws Exception {
    playInVain(client.lock(name)::tryAcquire);
  }

  void waitingInVain() throws Exception {
    playInVain(() -> client.lock(name).tryAcquire(PATIENCE));
  }

  private void playInVain(Callable<Optional<Lease>> attempt) throws Exception {
    Lease held = longHeldBy(other);
    Optional<Optional<Lease>> outcome = spoiled(attempt);
    assertTrue(outcome.flatMap(lease -> lease).isEmpty(), "a lock that is held was granted");
    RuleTest.assertReleased(held, "a lease was gone because another client had tried or waited");
    assertFreeInTime(untilExpired());
  }

  void waiting() throws Exception {
    Lease held = longHeldBy(other);
    ActiveFault spoil = spoil();
    CompletableFuture<Optional<Lease>> waiter =
        client.lock(name).tryAcquireAsync(untilExpired().multipliedBy(2));
    try (spoil) {
      boolean unused = spoil.awaitHit(earlier == 0 ? test.bound().dividedBy(2) : FURTHER_REQUESTS);
      assertFalse(waiter.isDone() && granted(waiter), "a lock that is held was granted");
      RuleTest.assertReleased(held, "a lease was gone because another client was waiting");
      assertStruck(spoil);
    }
    Optional<Optional<Lease>> served =
        RuleTest.unless( // a permanent failure ends a wait at once
            LockException.class,
            () -> test.within(untilExpired(), waiter, "the waiter was not served"));
    if (served.isPresent()) {
      assertWorks(served.get().orElseGet(() -> fail("the waiter gave up before its time")));
    } else {
      assertFreeInTime(untilExpired());
    }
  }

  private static boolean granted(CompletableFuture<Optional<Lease>> waiter) {
    return !waiter.isCompletedExceptionally() && waiter.join().isPresent();
  }

  void renewal() throws Exception {
    Lease lease = longHeldBy(client);
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
    assertWorks(lease);
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
      assertTrue(System.nanoTime() - validUntil >= 0, () -> "lost too early: " + loss.getMessage());
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
    assertFalse(lease.isHeld(), "held after its release");
    assertFreeInTime(test.lasting().ttl().dividedBy(2));
    assertEquals(outcome, lease.release(), "a repeated release says something else");
    lease.close();
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
    for (boolean held : new boolean[] {true, false}) {
      boolean seen = spoiled(() -> client.admin().inspect(name).isHeld()).orElse(held);
      assertEquals(held, seen, "whether inspection showed the lock as held");
      if (held) {
        RuleTest.assertReleased(lease, "a lease was gone because its lock was inspected");
        test.eventually(
            untilExpired(), () -> !other.admin().inspect(name).isHeld(), "the lock is still held");
      }
    }
    test.answer(() -> client.admin().inspect(name));
  }

  void forcedRelease() throws Exception {
    Lease forced = longHeldBy(other);
    Lease next =
        acquireAfter(
            () -> client.admin().forceRelease(name),
            test.bound(),
            "not free after its forced release");
    forced.release();
    assertTrue(next.isHeld(), "the release of a force-released lease touched its successor");
    next.release();
  }

  void revocation() throws Exception {
    if (!test.has(Capability.REVOKE)) {
      return;
    }
    Lease revoked = test.acquireNow(other.lock(name));
    Lease next =
        acquireAfter(
            () -> client.admin().revoke(name), untilExpired(), "not free after it was revoked");
    assertFalse(
        revoked.isHeld(), "the successor acquired the lock while the lease was still valid");
    next.release();
  }

  /** Frees the lock with an answer spoiled, and returns the lease of a third client. */
  private Lease acquireAfter(Callable<Boolean> intervention, Duration limit, String otherwise)
      throws Exception {
    Optional<Boolean> seen = spoiled(intervention);
    assertTrue(seen.orElse(true), "a held lock was reported as free");
    if (seen.isEmpty()) {
      var unused = test.answer(intervention::call);
    }
    return test.acquireWithin(limit, test.client(options()).lock(name), otherwise);
  }

  /** All answers are spoiled for a while. */
  void aWhile() throws Exception {
    if (earlier > 0) {
      return;
    }
    Lease held = longHeldBy(client);
    String second = test.newName();
    Lease given = test.acquireNow(client.lock(second, RuleTest.renewed(test.timing().longTtl())));
    released.add(given.onLoss());
    String third = test.newName();
    Lease others = test.acquireNow(other.lock(third, RuleTest.renewed(test.timing().longTtl())));
    CompletableFuture<Optional<Lease>> waiter =
        client.lock(third).tryAcquireAsync(untilExpired().multipliedBy(2));
    ReleaseOutcome outcome;
    try (ActiveFault spoil = spoil()) {
      outcome = given.release();
      for (String each : List.of(name, third, test.newName())) {
        Optional<Optional<Lease>> granted =
            RuleTest.unless(LockException.class, client.lock(each)::tryAcquire);
        assertTrue(granted.flatMap(lease -> lease).isEmpty(), "granted without the store");
      }
      RuleTest.letPass(PATIENCE);
      assertTrue(held.isHeld(), "a lease was lost before its validity was over");
      assertStruck(spoil);
    }
    assertEquals(ReleaseOutcome.UNKNOWN, outcome, "the store refused the release");
    RuleTest.assertReleased(others, "a lease was gone because another client was waiting");
    RuleTest.unless( // a permanent failure ends a wait at once
            LockException.class,
            () -> test.within(untilExpired(), waiter, "the waiter was not served"))
        .ifPresent(lease -> lease.ifPresent(Lease::release));
    test.acquireWithin(
            test.lasting().ttl().dividedBy(2),
            other.lock(second),
            "a refused release was not completed")
        .release();
    RuleTest.renewNow(held, test.bound());
    RuleTest.assertReleased(held, "the lease was gone");
    assertFreeInTime(untilExpired());
  }
}
