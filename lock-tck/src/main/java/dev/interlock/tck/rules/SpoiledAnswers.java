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
import dev.interlock.tck.NotTestedException;
import dev.interlock.tck.rules.Spoiler.Spoil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One kind of request after the other, one of whose answers does not arrive as the store gave it:
 * what may be said of it afterwards, and what must be left.
 */
final class SpoiledAnswers {
  /** How many of the answers to one call are spoiled, each in a run of its own. */
  static final int ANSWERS = 3;

  private static final Duration PATIENCE = Duration.ofMillis(300);

  /** Within this a waiter's requests have followed the first one, if it sends more of them. */
  private static final Duration MOST_OF_A_TALK = Duration.ofSeconds(1);

  /** For whatever would still say something wrong when all is over. */
  private static final Duration AFTERMATH = Duration.ofSeconds(1);

  private final RuleTest test;
  private final Spoiler spoiler;
  private final LockClient client;
  private final LockClient other;
  private final Queue<LockEvent> losses = new ConcurrentLinkedQueue<>();
  private final List<CompletableFuture<LeaseLostException>> released = new ArrayList<>();
  private int earlier;
  private String name = "";

  /** What is done while an answer is spoiled. */
  interface Scenario {
    void play(SpoiledAnswers spoiled) throws Exception;
  }

  private SpoiledAnswers(RuleTest test, Spoiler spoiler) {
    this.test = test;
    this.spoiler = spoiler;
    this.client = open();
    this.other = test.client(options());
  }

  /**
   * Plays a scenario once for each of the first answers to a call, with the same client throughout;
   * on several ways to the store side by side.
   */
  static void each(RuleTest test, List<Spoiler> ways, Scenario scenario) throws Exception {
    List<Future<Boolean>> plays = new ArrayList<>();
    for (Spoiler way : ways) {
      plays.add(test.inThread(() -> new SpoiledAnswers(test, way).playAll(scenario)));
    }
    for (Future<Boolean> play : plays) {
      test.within(Duration.ofMinutes(4), play, "the lock did not work again after an answer");
    }
  }

  private boolean playAll(Scenario scenario) throws Exception {
    for (earlier = 0; earlier < ANSWERS; earlier++) {
      name = test.newName();
      try {
        scenario.play(this);
      } catch (AssertionError | LockException e) {
        throw new AssertionError(
            "answer " + (earlier + 1) + " " + spoiler.how() + ": " + e.getMessage(), e);
      }
    }
    RuleTest.letPass(AFTERMATH);
    for (CompletableFuture<LeaseLostException> lost : released) {
      assertFalse(
          lost.isDone(), () -> "lost() completed for a lease that was released: " + lost.join());
    }
    assertEquals(
        List.of(), List.copyOf(losses), "leases that nobody had lost were reported as lost");
    return true;
  }

  // --- what the scenarios are made of ---

  /** What is left in doubt ends with this at the latest. */
  private LockOptions options() {
    return test.options(test.timing().renewedTtl(), true);
  }

  private Duration untilLapsed() {
    return test.timing().renewedTtl().multipliedBy(2).plus(test.bound());
  }

  /** Behind the spoiler, connected, and with everything loaded. */
  private LockClient open() {
    LockClient opened = test.client(spoiler.uri(), options());
    test.acquireNow(opened.lock(test.newName())).release();
    opened.onEvent(
        event -> {
          if (event instanceof LockEvent.Lost lost && lost.loss().reason() != LossReason.CLOSED) {
            losses.add(event);
          }
        });
    return opened;
  }

  private Spoil spoil() {
    return spoiler.spoil(earlier);
  }

  /** The first answer is that to the call; whether there are more is up to the backend. */
  private void struck(Spoil spoil) throws InterruptedException {
    if (earlier == 0 && !spoil.awaitHit(Duration.ofMillis(1))) {
      throw new NotTestedException("the client's requests do not pass what spoils their answers");
    }
  }

  private void assertFreeInTime(Duration limit) throws InterruptedException {
    test.acquireWithin(limit, other.lock(name), "nobody else got the lock").release();
  }

  private void assertNobodyElse(String otherwise) {
    test.assertRefused(other.lock(name), otherwise);
  }

  /** The lease is what it was before, and everything can be done with it. */
  private void assertWorks(Lease lease) throws Exception {
    assertTrue(lease.isHeld(), "the lease is not held any more");
    assertNobodyElse("somebody else got the lock of a lease that is held");
    RuleTest.renewNow(lease, test.bound());
    RuleTest.assertReleased(lease, "the lease was gone");
    assertFreeInTime(untilLapsed());
  }

  // --- the scenarios ---

  void attempt() throws Exception {
    Optional<Lease> had = Optional.empty();
    try (Spoil spoil = spoil()) {
      try {
        had = client.lock(name).tryAcquire();
        assertTrue(had.isPresent(), "a lock that nobody held was said to be held");
      } catch (LockException e) {
        // It is not known whether it was granted.
      }
      struck(spoil);
    }
    if (had.isPresent()) {
      assertWorks(had.get());
    } else {
      assertFreeInTime(untilLapsed());
    }
    test.acquireWithin(untilLapsed(), client.lock(name), "the client itself got no lock").release();
  }

  void attemptInVain() throws Exception {
    Lease held = test.acquireNow(other.lock(name, RuleTest.renewed(test.timing().longTtl())));
    try (Spoil spoil = spoil()) {
      try {
        assertTrue(client.lock(name).tryAcquire().isEmpty(), "a lock that is held was granted");
      } catch (LockException e) {
        // It is not known that it is held.
      }
      struck(spoil);
    }
    RuleTest.assertReleased(held, "a lease was gone because somebody else had tried");
    assertFreeInTime(untilLapsed());
  }

  void waiting() throws Exception {
    Lease held = test.acquireNow(other.lock(name, RuleTest.renewed(test.timing().longTtl())));
    CompletableFuture<Optional<Lease>> waiter;
    try (Spoil spoil = spoil()) {
      waiter = client.lock(name).tryAcquireAsync(untilLapsed().multipliedBy(2));
      boolean unused = spoil.awaitHit(earlier == 0 ? test.bound().dividedBy(2) : MOST_OF_A_TALK);
      assertFalse(waiter.isDone() && granted(waiter), "a lock that is held was granted");
      RuleTest.assertReleased(held, "a lease was gone because somebody else was waiting");
      struck(spoil);
    }
    try {
      Optional<Lease> lease = test.within(untilLapsed(), waiter, "the waiter was not served");
      assertWorks(lease.orElseGet(() -> fail("the waiter gave up before its time")));
    } catch (LockException e) {
      assertFreeInTime(untilLapsed()); // what a person has to put right ends a wait at once
    }
  }

  private static boolean granted(CompletableFuture<Optional<Lease>> waiter) {
    return !waiter.isCompletedExceptionally() && waiter.join().isPresent();
  }

  void waitingInVain() throws Exception {
    Lease held = test.acquireNow(other.lock(name, RuleTest.renewed(test.timing().longTtl())));
    try (Spoil spoil = spoil()) {
      try {
        Optional<Lease> had = client.lock(name).tryAcquire(PATIENCE);
        assertTrue(had.isEmpty(), "a lock that is held was granted");
      } catch (LockException e) {
        // It is not known that it is held.
      }
      struck(spoil);
    }
    RuleTest.assertReleased(held, "a lease was gone because somebody else had waited");
    assertFreeInTime(untilLapsed());
  }

  void renewal() throws Exception {
    Lease lease = test.acquireNow(client.lock(name, RuleTest.renewed(test.timing().longTtl())));
    try (Spoil spoil = spoil()) {
      try {
        lease.renew();
      } catch (LeaseLostException e) {
        fail("a lease that nobody had taken away was said to be lost: " + e.getMessage(), e);
      } catch (LockException e) {
        // It goes on with the validity that it had.
      }
      struck(spoil);
    }
    assertWorks(lease);
  }

  void renewalInTheBackground() throws Exception {
    Lease lease = test.acquireNow(client.lock(name));
    CompletableFuture<LeaseLostException> lost = lease.lost();
    long validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
    try (Spoil spoil = spoil()) {
      boolean unused = spoil.awaitHit(lease.effectiveTtl().dividedBy(2));
      struck(spoil);
    }
    try {
      LeaseLostException loss = lost.get(500, TimeUnit.MILLISECONDS);
      boolean ranOut = loss.reason() == LossReason.EXPIRED && System.nanoTime() - validUntil >= 0;
      assertTrue(ranOut, () -> "a lease that nobody had taken away was lost: " + loss.getMessage());
      losses.clear(); // the machine stood still
    } catch (TimeoutException e) {
      assertWorks(lease);
    }
  }

  void release() throws Exception {
    Lease lease = test.acquireNow(client.lock(name, RuleTest.renewed(test.timing().longTtl())));
    released.add(lease.lost());
    ReleaseOutcome outcome;
    try (Spoil spoil = spoil()) {
      outcome = lease.release();
      struck(spoil);
    }
    assertNotEquals(
        ReleaseOutcome.ALREADY_LOST, outcome, "what was said of a lease that was held until now");
    assertFalse(lease.isHeld(), "held after its release");
    assertFreeInTime(test.lasting().ttl().dividedBy(2));
    assertEquals(outcome, lease.release(), "a repeated release says something else");
    lease.close();
  }

  void closing() throws Exception {
    LockClient closed = open();
    Lease lease = test.acquireNow(closed.lock(name));
    try (Spoil spoil = spoil()) {
      closed.close();
      struck(spoil);
    }
    LeaseLostException loss =
        test.within(
            test.bound(), lease.lost(), "the holder was not told that its client is closed");
    assertEquals(LossReason.CLOSED, loss.reason());
    assertFreeInTime(untilLapsed());
  }

  void inspection() throws Exception {
    Lease lease = test.acquireNow(other.lock(name, RuleTest.renewed(test.timing().longTtl())));
    for (boolean held : new boolean[] {true, false}) {
      try (Spoil spoil = spoil()) {
        try {
          boolean seen = client.inspect(name).isHeld();
          assertEquals(held, seen, "whether the lock was held when it was inspected");
        } catch (LockException e) {
          // It is not known.
        }
        struck(spoil);
      }
      if (held) {
        RuleTest.assertReleased(lease, "a lease was gone because it was looked at");
        test.eventually(untilLapsed(), () -> !other.inspect(name).isHeld(), "it is still held");
      }
    }
    test.answer(() -> client.inspect(name));
  }

  void forcedRelease() throws Exception {
    Lease forced = test.acquireNow(other.lock(name, RuleTest.renewed(test.timing().longTtl())));
    boolean freed = false;
    try (Spoil spoil = spoil()) {
      try {
        freed = client.forceRelease(name);
        assertTrue(freed, "a lock that was held was said to be free");
      } catch (LockException e) {
        // The lock may be gone or not.
      }
      struck(spoil);
    }
    if (!freed) {
      var unused = test.answer(() -> client.forceRelease(name));
    }
    LockClient third = test.client(options());
    Lease next = test.acquireWithin(test.bound(), third.lock(name), "not free after it was forced");
    forced.release();
    assertTrue(next.isHeld(), "the release of a lease that was forced touched its successor");
    next.release();
  }

  void revocation() throws Exception {
    if (!test.has(Capability.REVOKE)) {
      return;
    }
    Lease revoked = test.acquireNow(other.lock(name));
    try (Spoil spoil = spoil()) {
      try {
        assertTrue(client.revoke(name), "a lock that was held was said to be free");
      } catch (LockException e) {
        var unused = test.answer(() -> client.revoke(name));
      }
      struck(spoil);
    }
    LockClient third = test.client(options());
    Lease next =
        test.acquireWithin(untilLapsed(), third.lock(name), "not free after it was revoked");
    assertFalse(revoked.isHeld(), "the successor was let in while the lease was still valid");
    next.release();
  }

  /** Every answer is spoiled for a while. */
  void aWhile() throws Exception {
    if (earlier > 0) {
      return;
    }
    Lease held = test.acquireNow(client.lock(name, RuleTest.renewed(test.timing().longTtl())));
    String second = test.newName();
    Lease given = test.acquireNow(client.lock(second, RuleTest.renewed(test.timing().longTtl())));
    released.add(given.lost());
    String third = test.newName();
    Lease others = test.acquireNow(other.lock(third, RuleTest.renewed(test.timing().longTtl())));
    CompletableFuture<Optional<Lease>> waiter =
        client.lock(third).tryAcquireAsync(untilLapsed().multipliedBy(2));
    ReleaseOutcome outcome;
    try (Spoil spoil = spoil()) {
      outcome = given.release();
      for (String each : List.of(name, third, test.newName())) {
        try {
          assertTrue(client.lock(each).tryAcquire().isEmpty(), "granted without the store");
        } catch (LockException e) {
          // as it has to be
        }
      }
      RuleTest.letPass(PATIENCE);
      assertTrue(held.isHeld(), "a lease was lost before its validity was over");
      struck(spoil);
    }
    assertEquals(ReleaseOutcome.UNKNOWN, outcome, "the store refused the release");
    RuleTest.assertReleased(others, "a lease was gone because somebody else was waiting");
    try {
      test.within(untilLapsed(), waiter, "the waiter was not served").ifPresent(Lease::release);
    } catch (LockException e) {
      // What a person has to put right ends a wait at once.
    }
    test.acquireWithin(
            test.lasting().ttl().dividedBy(2),
            other.lock(second),
            "a release that was refused was not made up for")
        .release();
    RuleTest.renewNow(held, test.bound());
    RuleTest.assertReleased(held, "the lease was gone");
    assertFreeInTime(untilLapsed());
  }
}
