package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.run.NotApplicableException;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** SEM: semaphores. */
public abstract class SemaphoreRules extends SharedRuleTest {
  private static final int LIMIT = 2;

  @Override
  final Sharing sharing() {
    return new Sharing(
        LockKind.SEMAPHORE, SemaphoreRules::one, SemaphoreRules::all, TakePermit.class);
  }

  private static Acquirable<Lease> one(LockClient client, String name) {
    return client.semaphore(name, LIMIT);
  }

  private static Acquirable<Lease> all(LockClient client, String name) {
    return client.semaphore(name, LIMIT).permits(LIMIT);
  }

  private static Acquirable<Lease> oneOfThree(LockClient client, String name) {
    return client.semaphore(name, LIMIT + 1);
  }

  private static Acquirable<Lease> oneOfOne(LockClient client, String name) {
    return client.semaphore(name, 1);
  }

  /** Acquires a permit, and keeps it. */
  static final class TakePermit extends TakeSome {
    @Override
    Acquirable<Lease> some(LockClient client, String name) {
      return one(client, name);
    }
  }

  // --- SEM-01 ---

  @Test
  @Rule("SEM-01")
  @Requires(value = Capability.SEMAPHORE, absent = true)
  void withoutSemaphoresTheyAreRefused() throws Exception {
    assertNotOffered((client, name) -> client.semaphore(name, 3));
    assertNotOffered((client, name) -> client.semaphore(name, 3, options -> {}).permits(2));
  }

  @Test
  @Rule("SEM-01")
  @Requires(Capability.SEMAPHORE)
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
    assertEquals(
        List.of(2, 1, 1, 1),
        answer(() -> client().inspect(name)).holders().stream()
            .map(LockState.Holder::weight)
            .toList(),
        "the permits shown, in the order of their grants");
    ReleaseOutcome outcome = two.release();
    Lease again = acquireAfter(outcome, clients.get(1).permits(2));
    for (DistributedSemaphore semaphore : clients) {
      assertRefused(semaphore, "more permits were granted than there are");
    }
    for (Lease lease : List.of(one, another, last)) {
      assertTrue(lease.isHeld(), "a lease ended");
      outcome = lease.release();
    }
    acquireAfter(outcome, clients.get(0).permits(3)).release();
    again.release();
  }

  @Test
  @Rule({"SEM-01", "FENCE-07"})
  @Requires(Capability.SEMAPHORE)
  void threadsOfSeveralClientsNeverHoldMoreThanThereIs() throws Exception {
    String name = newName();
    int limit = 4;
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    AtomicInteger inUse = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    List<Future<?>> workers = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      DistributedSemaphore semaphore = client().semaphore(name, limit);
      LeaseRecorder recorder =
          new LeaseRecorder("client-" + c, has(Capability.FENCING), history::add);
      for (int permits : new int[] {1, 1, 2, c + 2}) {
        workers.add(
            inThread(
                () -> {
                  for (int i = 0; i < 8; i++) {
                    long requestedAt = System.nanoTime();
                    try (Lease lease = semaphore.permits(permits).acquire()) {
                      LeaseRecorder.Recorded recorded =
                          recorder.granted(lease, requestedAt, permits, limit);
                      most.accumulateAndGet(inUse.addAndGet(permits), Math::max);
                      LockSupport.parkNanos(500_000); // lets others come in
                      inUse.addAndGet(-permits);
                      recorded.ends();
                    }
                  }
                  return null;
                }));
      }
    }
    for (Future<?> worker : workers) {
      within(Duration.ofSeconds(100), worker, "not all threads acquired their permits");
    }
    assertExclusive(history);
    assertTrue(most.get() <= limit, () -> most + " of " + limit + " permits were in use at once");
  }

  // --- SEM-02 ---

  @Test
  @Rule("SEM-02")
  @Requires(Capability.SEMAPHORE)
  void aRequestForSeveralPermitsIsNotOvertakenInTheQueue() throws Exception {
    if (!has(Capability.FIFO)) {
      throw new NotApplicableException(info().name() + " does not declare FIFO");
    }
    String name = newName();
    LockClient observer = client();
    LockClient holder = client();
    Lease first = acquireNow(one(holder, name));
    Future<Lease> large = inThread(all(client(), name)::acquire);
    awaitQueued(observer, name, 1);
    assertRefused(one(holder, name), "one permit overtook a request for more");
    assertRefused(one(observer, name), "one permit overtook a request for more");
    List<Future<Lease>> small = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      small.add(inThread(one(client(), name)::acquire));
      awaitQueued(observer, name, 2 + i);
    }
    first.release();
    Lease all = within(large, "a request for several permits was not served");
    small.forEach(waiter -> assertFalse(waiter.isDone(), "one permit overtook a request for more"));
    all.release();
    List<Lease> together = new ArrayList<>();
    for (Future<Lease> waiter : small) {
      together.add(within(waiter, "a waiter was not served although there is a permit for it"));
    }
    together.forEach(Lease::release);
  }

  @Test
  @Rule("SEM-02")
  @Requires(Capability.SEMAPHORE)
  void aRequestForAllPermitsIsServedWhileSinglePermitsComeAndGo() throws Exception {
    String name = newName();
    List<Acquirable<Lease>> busy = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      busy.add(one(client(renewed()), name));
    }
    testStarvation(
        busy,
        Duration.ofMillis(100),
        all(client(renewed()), name),
        "single permits starved a request for all");
  }

  @Test
  @Rule("SEM-02")
  @Requires(Capability.SEMAPHORE)
  void aRequestForOnePermitIsServedWhileOthersTakeAll() throws Exception {
    String name = newName();
    List<Acquirable<Lease>> busy = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      busy.add(all(client(renewed()), name));
    }
    testStarvation(
        busy,
        Duration.ofMillis(20),
        one(client(renewed()), name),
        "requests for all permits starved one for a single permit");
  }

  // --- SEM-03, SEM-04 ---

  @Test
  @Rule("SEM-03")
  @Requires(Capability.SEMAPHORE)
  void aPermitThatExpiresDoesNotShortenAnEarlierOne() throws Exception {
    testExpiryOfOne(false);
  }

  @Test
  @Rule("SEM-03")
  @Requires(Capability.SEMAPHORE)
  void aPermitThatIsRenewedDoesNotLengthenAnEarlierOne() throws Exception {
    testExpiryOfOne(true);
  }

  @Test
  @Rule("SEM-03")
  @Requires(Capability.SEMAPHORE)
  void thePermitsOfAKilledProcessComeBack() throws Exception {
    testKilledHolder();
  }

  @Test
  @Rule("SEM-04")
  @Requires(Capability.SEMAPHORE)
  void aReleaseReturnsThePermitsOfItsLeaseOnce() throws Exception {
    testReleaseOfOne();
  }

  @Test
  @Rule("SEM-04")
  @Requires(Capability.SEMAPHORE)
  void anEndedLeaseCannotTouchItsSuccessor() throws Exception {
    testEndedHold();
  }

  // --- SEM-05 ---

  @Test
  @Rule("SEM-05")
  @Requires(Capability.SEMAPHORE)
  void aLostAnswerToARequestForAPermitIsUndone() throws Exception {
    testLostAnswer(SemaphoreRules::one);
  }

  @Test
  @Rule("SEM-05")
  @Requires(Capability.SEMAPHORE)
  void aClientThatVanishesWithALostAnswerLeavesNoOrphan() throws Exception {
    testLostClient(SemaphoreRules::one);
  }

  @Test
  @Rule("SEM-05")
  @Requires(Capability.SEMAPHORE)
  void waitersThatGiveUpLeaveNothingBehind() throws Exception {
    testWaitersThatLeave();
  }

  @Test
  @Rule("SEM-05")
  @Requires(Capability.SEMAPHORE)
  void aWaiterBehindOneThatLeavesIsServed() throws Exception {
    testWaiterBehindOneThatLeaves();
  }

  // --- SEM-06 ---

  @Test
  @Rule("SEM-06")
  @Requires(Capability.SEMAPHORE)
  void everyHolderIsToldThatThePermitsWereTakenAway() throws Exception {
    testLossOfAll();
  }

  @Test
  @Rule("SEM-06")
  @Requires(Capability.SEMAPHORE)
  void theEndOfALeaseIsReportedToNoOther() throws Exception {
    testLossOfOne();
  }

  @Test
  @Rule("SEM-06")
  @Requires(Capability.SEMAPHORE)
  void aHolderThatIsCutOffHasEndedBeforeItsPermitIsGranted() throws Exception {
    testHolderThatIsCutOff();
  }

  @Test
  @Rule("SEM-06")
  @Requires(Capability.SEMAPHORE)
  void everyHolderIsShown() throws Exception {
    testInspection();
  }

  @Test
  @Rule("SEM-06")
  @Requires(Capability.SEMAPHORE)
  void aForcedReleaseReturnsAllPermits() throws Exception {
    testForcedRelease();
  }

  @Test
  @Rule("SEM-06")
  @Requires(Capability.SEMAPHORE)
  void aRevocationEndsAllHoldersAndKeepsTheLimit() throws Exception {
    testRevocation();
  }

  // --- SEM-07, SEM-08 ---

  @Test
  @Rule("SEM-07")
  @Requires(Capability.SEMAPHORE)
  void otherKindsAreNoSemaphore() throws Exception {
    testDisagreement(LockClient::lock, SemaphoreRules::one);
    // Both are 1 of 1 to the store.
    testDisagreement(LockClient::lock, SemaphoreRules::oneOfOne);
    if (has(Capability.READ_WRITE)) {
      testDisagreement((c, name) -> c.readWriteLock(name).readLock(), SemaphoreRules::one);
      testDisagreement((c, name) -> c.readWriteLock(name).writeLock(), SemaphoreRules::all);
    }
  }

  @Test
  @Rule("SEM-07")
  @Requires(Capability.SEMAPHORE)
  void aSemaphoreIsNothingElse() throws Exception {
    testDisagreement(SemaphoreRules::one, LockClient::lock);
    testDisagreement(SemaphoreRules::oneOfOne, LockClient::lock);
    testDisagreementWithAWaiter(SemaphoreRules::one, LockClient::lock);
    if (has(Capability.READ_WRITE)) {
      testDisagreement(SemaphoreRules::one, (c, name) -> c.readWriteLock(name).readLock());
      testDisagreement(SemaphoreRules::all, (c, name) -> c.readWriteLock(name).writeLock());
    }
  }

  @Test
  @Rule("SEM-07")
  @Requires(Capability.SEMAPHORE)
  void aSemaphoreHasOneLimit() throws Exception {
    testDisagreement(SemaphoreRules::one, SemaphoreRules::oneOfThree);
    testDisagreement(SemaphoreRules::one, SemaphoreRules::oneOfOne);
    testDisagreement(SemaphoreRules::oneOfThree, SemaphoreRules::all);
    testDisagreementWithAWaiter(SemaphoreRules::one, SemaphoreRules::oneOfThree);
  }

  @Test
  @Rule("SEM-08")
  @Requires(Capability.SEMAPHORE)
  void impossibleNumbersOfPermitsAreRefused() throws Exception {
    LockClient client;
    if (cannotHappen(Fault.PARTITION)) {
      client = client();
    } else {
      Network network = network();
      client = client(network, lasting());
      network.cut();
    }
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
