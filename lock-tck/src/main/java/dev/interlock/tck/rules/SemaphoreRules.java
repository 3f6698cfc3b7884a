package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.run.LateError;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import dev.interlock.tck.run.Section;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.ResourceLock;

/** SEM: semaphores. */
@Requires(Capability.SEMAPHORE)
@Section("SEM-")
public abstract class SemaphoreRules extends SharedRuleTest {
  @Override
  final Sharing sharing() {
    return new Sharing(LockKind.SEMAPHORE, Kind.ONE_PERMIT, Kind.ALL_PERMITS);
  }

  private static final AcquirableFactory ONE_OF_THREE = (client, name) -> client.semaphore(name, 3);
  private static final AcquirableFactory ONE_OF_ONE = (client, name) -> client.semaphore(name, 1);

  // --- SEM-01 ---

  @Rule("SEM-01")
  @Requires(value = Capability.SEMAPHORE, absent = true)
  void withoutSemaphoresTheyAreRefused() throws Exception {
    assertNotOffered((client, name) -> client.semaphore(name, 3));
    assertNotOffered((client, name) -> client.semaphore(name, 3, options -> {}).permits(2));
  }

  @Rule("SEM-01")
  void thereAreAsManyPermitsAsTheLimitSays() throws Exception {
    String name = newName();
    List<DistributedSemaphore> clients =
        List.of(client().semaphore(name, 5), client().semaphore(name, 5));
    Lease two = acquireNow(clients.get(0).permits(2));
    Lease one = acquireNow(clients.get(1));
    Lease another = acquireNow(clients.get(0));
    for (DistributedSemaphore semaphore : clients) {
      assertRefused(semaphore.permits(2), "more permits were granted than there are");
    }
    Lease last = acquireNow(clients.get(1), "the last permit was refused");
    for (DistributedSemaphore semaphore : clients) {
      assertRefused(semaphore, "more permits were granted than there are");
    }
    ReleaseOutcome outcome = two.release();
    Lease again = acquireAfter(outcome, clients.get(1).permits(2));
    for (DistributedSemaphore semaphore : clients) {
      assertRefused(semaphore, "more permits were granted than there are");
    }
    for (Lease lease : List.of(one, another, last)) {
      assertHeld(lease, "a lease ended while it was held");
      outcome = lease.release();
    }
    acquireAfter(outcome, clients.get(0).permits(3)).release();
    again.release();
  }

  @Rule({"SEM-01", "FENCE-07"})
  void threadsOfSeveralClientsNeverHoldMoreThanThereIs() throws Exception {
    String name = newName();
    int limit = 4;
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    AtomicInteger inUse = new AtomicInteger();
    AtomicInteger maxInUse = new AtomicInteger();
    List<Future<?>> workers = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      DistributedSemaphore semaphore = client().semaphore(name, limit);
      LeaseRecorder recorder = recorder("client-" + c, history);
      for (int permits : new int[] {1, 1, 2, c + 2}) {
        workers.add(
            doInThread(
                () -> {
                  for (int i = 0; i < 8; i++) {
                    recorder.holding(
                        semaphore.permits(permits),
                        permits,
                        limit,
                        () -> {
                          maxInUse.accumulateAndGet(inUse.addAndGet(permits), Math::max);
                          LockSupport.parkNanos(500_000); // gives others time to exceed the limit
                          inUse.addAndGet(-permits);
                        });
                  }
                }));
      }
    }
    allWithin(Duration.ofSeconds(100), workers, "not all threads acquired their permits");
    assertExclusive(history);
    assertTrue(
        maxInUse.get() <= limit, () -> maxInUse + " of " + limit + " permits were in use at once");
  }

  @Rule("SEM-01")
  void aRenewalKeepsAllPermitsOfItsLease() throws Exception {
    String name = newName();
    DistributedSemaphore other = client().semaphore(name, 3);
    Lease two = acquireNow(client().semaphore(name, 3).permits(2));
    for (int renewals = 1; renewals <= 2; renewals++) {
      assertRenewed(two, "a lease of several permits was lost");
      assertRefused(
          other.permits(2), "a renewal gave back permits of its lease, which others acquired");
    }
    Lease last = acquireNow(other, "a renewal took a permit that its lease does not hold");
    assertRefused(other, "a renewal gave back permits of its lease, which others acquired");
    last.release();
    acquireAfter(
            two.release(),
            other.permits(3),
            "not all permits of a lease that was renewed came back with its release")
        .release();
  }

  @Rule("SEM-01")
  void aMinimumHoldKeepsAllPermitsOfItsLease() throws Exception {
    String name = newName();
    Duration minHold = timing().ttl();
    LockClient client = client();
    DistributedSemaphore other = client().semaphore(name, 3);
    long before = System.nanoTime();
    Lease two =
        acquireNow(client.semaphore(name, 3, options -> options.minHold(minHold)).permits(2));
    assertDeferred(two.release().toString(), before, minHold);
    Optional<Lease> tooMany = answer(other.permits(2)::tryAcquire);
    if (tooMany.isPresent()) {
      assertTrue(
          since(before).compareTo(minHold) >= 0,
          "permits of a lease were given back before its minimum hold was over");
      throw new LateError("the minimum hold was over before another client tried");
    }
    acquireNow(other, "a lease is kept for its minimum hold with more permits than it had")
        .release();
    assertFree(
        minHold.plus(bound()),
        other.permits(3),
        "not all permits of a lease came back after its minimum hold");
  }

  // --- SEM-06 ---

  @Rule("SEM-06")
  void theNumberOfPermitsOfEachHolderIsShown() throws Exception {
    String name = newName();
    LockClient observer = client();
    Lease two = acquireNow(client().semaphore(name, 4).permits(2));
    Lease one = acquireNow(client().semaphore(name, 4));
    assertPermitsShown(List.of(2, 1), observer, name, "after their grants");
    assertRenewed(two, "a lease of several permits was lost");
    assertPermitsShown(List.of(2, 1), observer, name, "after the renewal of the first");
    if (two.release() == ReleaseOutcome.RELEASED) {
      assertPermitsShown(List.of(1), observer, name, "after the release of the first");
    }
    one.release();
  }

  private void assertPermitsShown(
      List<Integer> expected, LockClient observer, String name, String when) {
    for (LockState state : statesShown(observer, name)) {
      assertEquals(
          expected,
          state.holders().stream().map(holder -> holder.permits().orElse(0)).toList(),
          "the number of permits shown of each holder, " + when);
    }
  }

  // --- SEM-03 ---

  @Rule("SEM-03")
  void permitsThatAreNoLongerRenewedComeBackBesideOnesThatAre() throws Exception {
    for (boolean waits : new boolean[] {true, false}) {
      String name = newName();
      Lease renewed = acquireNow(client(renewed()).semaphore(name, 3));
      Lease unrenewed = acquireNow(client(unrenewed()).semaphore(name, 3).permits(2));
      DistributedSemaphore other = client().semaphore(name, 3);
      Duration limit = maxLifetime(unrenewed);
      Lease one =
          waits
              ? acquireWithin(limit, other, STILL_COUNTED)
              : acquireAtOnce(limit, other, STILL_COUNTED);
      assertFalse(unrenewed.isHeld(), "the store ended a hold that was valid");
      acquireNow(other, STILL_COUNTED).release();
      assertReleased(renewed, "the end of one hold ended another");
      one.release();
    }
  }

  // --- SEM-07, SEM-08 ---

  @Rule("SEM-07")
  @ResourceLock(MANY_CLIENTS)
  void otherKindsAreNoSemaphore() throws Exception {
    testKindConflict(Kind.LOCK, Kind.ONE_PERMIT);
    // To the store both are 1 of 1.
    testKindConflict(Kind.LOCK, ONE_OF_ONE);
    if (has(Capability.READ_WRITE)) {
      testKindConflict(Kind.READER, Kind.ONE_PERMIT);
      testKindConflict(Kind.WRITER, Kind.ALL_PERMITS);
    }
  }

  @Rule("SEM-07")
  @ResourceLock(MANY_CLIENTS)
  void aSemaphoreIsNothingElse() throws Exception {
    testKindConflict(Kind.ONE_PERMIT, Kind.LOCK);
    testKindConflict(ONE_OF_ONE, Kind.LOCK);
    testKindConflictWithAWaiter(Kind.ONE_PERMIT, Kind.LOCK);
    if (has(Capability.READ_WRITE)) {
      testKindConflict(Kind.ONE_PERMIT, Kind.READER);
      testKindConflict(Kind.ALL_PERMITS, Kind.WRITER);
    }
  }

  @Rule("SEM-07")
  @ResourceLock(MANY_CLIENTS)
  void aSemaphoreHasOneLimit() throws Exception {
    testKindConflict(Kind.ONE_PERMIT, ONE_OF_THREE);
    testKindConflict(Kind.ONE_PERMIT, ONE_OF_ONE);
    testKindConflict(ONE_OF_THREE, Kind.ALL_PERMITS);
    testKindConflictWithAWaiter(Kind.ONE_PERMIT, ONE_OF_THREE);
  }

  @Rule("SEM-08")
  void impossibleNumbersOfPermitsAreRefused() throws Exception {
    LockClient client = clientOfASilentStore();
    String name = newName();
    for (int limit : new int[] {0, -1, Integer.MIN_VALUE}) {
      assertRefusedWith(Integer.toString(limit), () -> client.semaphore(name, limit));
    }
    DistributedSemaphore semaphore = client.semaphore(name, 3);
    assertEquals(3, semaphore.limit());
    for (int permits : new int[] {0, -1, Integer.MIN_VALUE, 4, Integer.MAX_VALUE}) {
      assertRefusedWith(Integer.toString(permits), () -> semaphore.permits(permits));
    }
  }

  private static void assertRefusedWith(String number, Executable call) {
    String message =
        String.valueOf(
            assertThrows(
                    IllegalArgumentException.class,
                    call,
                    "an impossible number of permits was accepted")
                .getMessage());
    assertTrue(message.contains(number), () -> "the message does not give the number: " + message);
  }
}
