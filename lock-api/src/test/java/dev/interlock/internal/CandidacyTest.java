package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection;
import dev.interlock.LeaderElection.Candidacy;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.internal.FakeStore.Op;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CandidacyTest extends EngineFixture {

  /** The work of the leader, which ends as the test says. */
  private static class Work implements LeaderElection.LeaderWork {
    final BlockingQueue<Lease> begun = new LinkedBlockingQueue<>();
    final AtomicInteger starts = new AtomicInteger();
    final AtomicInteger stops = new AtomicInteger();
    final AtomicInteger interrupts = new AtomicInteger();
    private final BlockingQueue<LeaderElection.LeaderWork> endings = new LinkedBlockingQueue<>();

    @Override
    public void lead(Lease leadership) throws Exception {
      starts.incrementAndGet();
      begun.add(leadership);
      try {
        LeaderElection.LeaderWork ending =
            endings.poll(); // an early interrupt must meet the wait below
        (ending == null ? endings.take() : ending).lead(leadership);
      } catch (InterruptedException e) {
        interrupts.incrementAndGet();
        throw e;
      } finally {
        stops.incrementAndGet();
      }
    }

    /** Ends the present leadership, or the next. */
    void end(LeaderElection.LeaderWork ending) {
      endings.add(ending);
    }

    void end() {
      end(leadership -> {});
    }

    Lease next() throws InterruptedException {
      Lease leadership = begun.poll(30, TimeUnit.SECONDS);
      assertTrue(leadership != null, "the work did not begin");
      return leadership;
    }
  }

  private final Work work = new Work();

  /** Ends work that ignores interrupts. */
  private final CountDownLatch over = new CountDownLatch(1);

  @AfterEach
  void endWork() {
    over.countDown();
  }

  private Candidacy run() {
    return engine.election("a").start(work);
  }

  /** Lets the pauses between campaigns pass. */
  private Lease nextLeadership() throws InterruptedException {
    advanceUntil("a leadership", () -> !work.begun.isEmpty());
    return work.next();
  }

  private static List<Thread> candidates() {
    Thread[] threads = new Thread[Thread.activeCount() + 16];
    int count = Thread.enumerate(threads);
    return Arrays.stream(threads, 0, count)
        .filter(thread -> thread.getName().equals("interlock-fake-candidate"))
        .toList();
  }

  private void assertNothingLeft() {
    assertFalse(store.holds("a"));
    // The client looks for undone requests until they can no longer arrive.
    advanceUntil("nothing to be left", () -> engine.residue() == 0);
    assertEquals(work.starts.get(), work.stops.get());
  }

  @Test
  void aCandidateLeadsUntilItIsClosed() throws Exception {
    try (Candidacy candidacy = run()) {
      Lease leadership = work.next();
      assertTrue(candidacy.isLeader());
      assertTrue(leadership.isHeld());
      assertEquals(leadership.fencingToken(), leader());
      time.advance(TTL.multipliedBy(3).dividedBy(10));
      time.advance(TTL.multipliedBy(3).dividedBy(10));
      assertTrue(candidacy.isLeader());
    }
    assertEquals(1, work.interrupts.get());
    assertNothingLeft();
  }

  private long leader() {
    return engine.election("a").leader().orElseThrow().fencingToken().orElseThrow();
  }

  @Test
  void workThatReturnsResignsAndACampaignFollows() throws Exception {
    try (Candidacy candidacy = run()) {
      long last = 0;
      for (int i = 0; i < 5; i++) {
        long token = nextLeadership().fencingToken();
        assertTrue(token > last, token + " after " + last);
        last = token;
        assertEquals(i, store.calls(Op.RELEASE));
        work.end();
      }
      nextLeadership();
      assertTrue(candidacy.isLeader());
    }
    assertNothingLeft();
  }

  @Test
  void everyStartHasItsStopBeforeTheReleaseAndTheNextCampaignAlsoIfTheReleaseFails()
      throws Exception {
    List<String> journal = new CopyOnWriteArrayList<>();
    LeaderElection.LeaderWork noted =
        leadership -> {
          journal.add("start");
          try {
            work.lead(leadership);
          } finally {
            journal.add("stop");
          }
        };
    record(journal, Op.ACQUIRE, "campaign");
    Candidacy candidacy = engine.election("a").start(noted);
    Lease first = work.next();
    store.onNextCall(
        Op.RELEASE,
        () -> {
          journal.add("release");
          record(journal, Op.ACQUIRE, "campaign");
          store.onNextCall(
              Op.RELEASE,
              () -> {
                // The release in the background.
                journal.add("undone");
              });
          throw FakeStore.noAnswer();
        });
    work.end();
    Lease second = nextLeadership();
    assertTrue(second.fencingToken() > first.fencingToken());
    assertEquals(
        List.of("campaign", "start", "stop", "release"), journal.subList(0, 4), journal::toString);
    assertEquals("start", journal.get(journal.size() - 1));
    assertEquals(2, journal.stream().filter("start"::equals).count());
    candidacy.close();
    assertEquals(2, journal.stream().filter("stop"::equals).count());
    assertNothingLeft();
  }

  private void record(List<String> journal, Op op, String what) {
    store.onNextCall(op, () -> journal.add(what));
  }

  @Test
  void aLeaderThatTheStoreDoesNotAnswerIsDemotedWhenItsValidityEnds() throws Exception {
    try (Candidacy candidacy = run()) {
      Lease leadership = work.next();
      store.down(true);
      time.advance(TTL.minusMillis(1));
      assertTrue(candidacy.isLeader());
      time.pass(Duration.ofMillis(1));
      // The client's own clock decides, whatever its threads have done until then.
      assertFalse(candidacy.isLeader());
      assertFalse(leadership.isHeld());
      Waits.until("the work to be stopped", () -> work.interrupts.get() == 1);
      store.down(false);
      assertTrue(nextLeadership().fencingToken() > leadership.fencingToken());
      assertEquals(1, work.stops.get());
    }
    assertNothingLeft();
  }

  @Test
  void aLeaderThatTheStoreHasDeposedStopsAndCampaignsAgain() throws Exception {
    try (Candidacy candidacy = run()) {
      for (int i = 0; i < 20; i++) {
        Lease leadership = work.next();
        store.reportLoss("a", LossReason.TAKEN);
        assertEquals(LossReason.TAKEN, get(leadership.onLoss()).reason());
        assertTrue(candidacy.failure().isEmpty(), () -> candidacy.failure().toString());
      }
      work.next();
      assertEquals(20, work.stops.get());
    }
    assertNothingLeft();
  }

  @Test
  void theNextCampaignWaitsForWorkThatIgnoresTheLoss() throws Exception {
    work.end(leadership -> awaitUninterruptibly(over));
    Candidacy candidacy = run();
    Lease leadership = work.next();
    store.reportLoss("a", LossReason.TAKEN);
    get(leadership.onLoss());
    store.occupy("a", TTL);
    time.advance(TTL);
    assertFalse(candidacy.isLeader());
    assertEquals(1, store.calls(Op.ACQUIRE));
    over.countDown();
    nextLeadership();
    assertEquals(1, work.stops.get());
    candidacy.close();
    assertNothingLeft();
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Work may call {@link System#exit} while a shutdown hook closes the candidacy. */
  @Test
  void workThatDoesNotEndIsNoLongerRenewedAfterItsCandidacyWasClosed() throws Exception {
    work.end(leadership -> awaitUninterruptibly(over));
    Candidacy candidacy = run();
    Lease leadership = work.next();
    Background<Boolean> closing =
        inBackground(
            () -> {
              candidacy.close();
              return true;
            });
    advanceUntil("the close to return", closing.result::isDone);
    advanceUntil("the lock to be free", () -> !store.holds("a"));
    assertEquals(LossReason.ABANDONED, get(leadership.onLoss()).reason());
    over.countDown();
    Waits.until("the candidate to end", () -> candidates().isEmpty());
    assertEquals(1, work.starts.get());
    assertNothingLeft();
  }

  @Test
  void workThatReturnsAtOnceIsFollowedByAPause() throws Exception {
    try (Candidacy candidacy = engine.election("a").start(leadership -> {})) {
      Waits.until("a release", () -> store.calls(Op.RELEASE) > 0);
      time.awaitAsleep(candidates().get(0));
      int campaigns = store.calls(Op.ACQUIRE);
      assertTrue(campaigns < 3, () -> campaigns + " campaigns");
      assertFalse(candidacy.isLeader());
    }
  }

  @Test
  void aCandidateThatIsRefusedShowsItAndTriesAgain() throws Exception {
    store.refuse(true);
    try (Candidacy candidacy = run()) {
      advanceUntil("several campaigns", () -> store.calls(Op.ACQUIRE) >= 4);
      assertInstanceOf(LockConfigurationException.class, candidacy.failure().orElseThrow());
      assertFalse(candidacy.isLeader());
      store.refuse(false);
      nextLeadership();
      assertTrue(candidacy.failure().isEmpty());
    }
    assertNothingLeft();
  }

  @Test
  void anOutageShowsWhileItLastsAndAfterTheCampaignHasFailed() throws Exception {
    store.down(true);
    long begunAt = time.nanoTime();
    try (Candidacy candidacy = run()) {
      Waits.until("the first answer that fails to come", () -> candidacy.failure().isPresent());
      assertEquals(begunAt, time.nanoTime());
      assertInstanceOf(LockUnavailableException.class, candidacy.failure().orElseThrow());
      // The first campaign ends with its outage time-out; others follow.
      advanceUntil(
          "a second campaign",
          () -> time.nanoTime() - begunAt > RENEWED.outageTimeout().plusSeconds(5).toNanos());
      assertInstanceOf(LockUnavailableException.class, candidacy.failure().orElseThrow());
      store.down(false);
      nextLeadership();
      assertTrue(candidacy.failure().isEmpty());
    }
    Waits.until("nothing to be left", () -> engine.holdings.queues.size() == 0);
  }

  @Test
  void aLongWaitForLeadershipIsNotAFailure() throws Exception {
    store.occupy("a", TTL.multipliedBy(4));
    LeaderElection election =
        engine.election("a", options -> options.waitTimeout(Duration.ofSeconds(1)));
    try (Candidacy candidacy = election.start(work)) {
      long begunAt = time.nanoTime();
      advanceUntil("three TTLs", () -> time.nanoTime() - begunAt > TTL.multipliedBy(3).toNanos());
      assertTrue(candidacy.failure().isEmpty());
      nextLeadership();
    }
    assertNothingLeft();
  }

  /** Throws a checked exception, as languages without checked exceptions do. */
  @SuppressWarnings("unchecked") // nothing is cast
  private static <E extends Throwable> void fail(Throwable failure) throws E {
    throw (E) failure;
  }

  @Test
  void workThatFailsResignsAndIsCalledAgainAfterAPause() throws Exception {
    try (Candidacy candidacy = run()) {
      for (Throwable failure :
          List.of(new IllegalStateException("no"), new LinkageError("no"), new Throwable("no"))) {
        nextLeadership();
        work.end(leadership -> CandidacyTest.<RuntimeException>fail(failure));
        Waits.until("it to be shown", () -> candidacy.failure().isPresent());
        Waits.until("the resignation", () -> !store.holds("a"));
        time.awaitAsleep(candidates().get(0));
        assertSame(failure, candidacy.failure().orElseThrow());
        nextLeadership();
        assertSame(failure, candidacy.failure().orElseThrow());
        work.end();
        nextLeadership();
        assertTrue(candidacy.failure().isEmpty());
        work.end();
      }
      nextLeadership();
    }
    assertNothingLeft();
  }

  @Test
  void workThatReturnsAfterTheLossOfItsLeadershipHasReturned() throws Exception {
    try (Candidacy candidacy = run()) {
      work.next();
      work.end(leadership -> CandidacyTest.<RuntimeException>fail(new IllegalStateException("no")));
      Lease leadership = nextLeadership();
      assertTrue(candidacy.failure().isPresent());
      work.end(held -> awaitUninterruptibly(over));
      store.reportLoss("a", LossReason.TAKEN);
      get(leadership.onLoss());
      over.countDown();
      nextLeadership();
      assertTrue(candidacy.failure().isEmpty(), () -> candidacy.failure().toString());
    }
    assertNothingLeft();
  }

  @Test
  void anInterruptThatTheWorkLeavesBehindEndsNoCampaign() throws Exception {
    try (Candidacy candidacy = run()) {
      for (int i = 0; i < 3; i++) {
        nextLeadership();
        work.end(leadership -> Thread.currentThread().interrupt());
      }
      nextLeadership();
      assertTrue(candidacy.failure().isEmpty());
    }
    assertNothingLeft();
  }

  @Test
  void anInterruptFromElsewhereDoesNotEndTheCandidacy() throws Exception {
    store.occupy("a", TTL);
    try (Candidacy candidacy = run()) {
      Thread candidate = candidates().get(0);
      time.awaitAsleep(candidate);
      candidate.interrupt();
      advanceUntil("it to be shown", () -> candidacy.failure().isPresent());
      assertInstanceOf(InterruptedException.class, candidacy.failure().orElseThrow());
      nextLeadership();
      assertTrue(candidacy.failure().isEmpty());
      // Also in the middle of the work.
      candidate.interrupt();
      nextLeadership();
      assertEquals(1, work.stops.get());
      assertTrue(candidate.isAlive());
    }
    assertNothingLeft();
  }

  @Test
  void workMayResignItself() throws Exception {
    try (Candidacy candidacy = run()) {
      Lease leadership = work.next();
      work.end(
          released -> {
            assertEquals(ReleaseOutcome.RELEASED, released.release());
            assertFalse(candidacy.isLeader());
            assertEquals(1, store.calls(Op.ACQUIRE));
          });
      assertTrue(nextLeadership().fencingToken() > leadership.fencingToken());
      assertTrue(candidacy.failure().isEmpty());
    }
    assertNothingLeft();
  }

  @Test
  void aCandidacyThatIsClosedByItsOwnWorkEndsAfterIt() throws Exception {
    CompletableFuture<Candidacy> self = new CompletableFuture<>();
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    work.end(
        leadership -> {
          Candidacy candidacy = self.join();
          candidacy.close();
          assertFalse(candidacy.isLeader());
          assertFalse(leadership.isHeld());
          assertEquals(Duration.ZERO, leadership.remainingValidity());
          assertThrows(IllegalStateException.class, leadership::ensureHeld);
          assertThrows(IllegalStateException.class, leadership::renew);
          assertThrows(ExecutionException.class, () -> get(leadership.renewAsync()));
          assertTrue(store.holds("a"), "released before the work has ended");
          interrupted.complete(Thread.currentThread().isInterrupted());
        });
    Candidacy candidacy = run();
    self.complete(candidacy);
    assertFalse(get(interrupted));
    candidacy.close();
    assertNothingLeft();
    assertEquals(1, work.starts.get());
  }

  @Test
  void workThatChecksItsLeaseEndsWhenTheCandidacyIsClosed() throws Exception {
    CompletableFuture<Boolean> heldOnStore = new CompletableFuture<>();
    CountDownLatch looking = new CountDownLatch(1);
    work.end(
        leadership -> {
          looking.countDown();
          while (leadership.isHeld()) {
            // Work may have no interruptible step.
            Thread.onSpinWait();
          }
          heldOnStore.complete(store.holds("a"));
        });
    Candidacy candidacy = run();
    looking.await();
    candidacy.close();
    assertTrue(get(heldOnStore), "another could lead while the work went on");
    assertNothingLeft();
  }

  @Test
  void closingWaitsForTheWorkAndKeepsTheInterruptStatus() throws Exception {
    work.end(leadership -> awaitUninterruptibly(over));
    Candidacy candidacy = run();
    work.next();
    Background<Boolean> closing =
        inBackground(
            () -> {
              Thread.currentThread().interrupt();
              candidacy.close();
              assertEquals(1, work.stops.get());
              assertFalse(store.holds("a"));
              return Thread.interrupted();
            });
    Waits.until("the close", () -> time.isAsleep(closing.thread));
    assertFalse(candidacy.isLeader());
    assertTrue(store.holds("a"));
    over.countDown();
    assertTrue(closing.get());
    candidacy.close();
    assertNothingLeft();
  }

  @Test
  void closingEndsACampaignAndAPause() throws Exception {
    store.occupy("a", TTL.multipliedBy(100));
    Candidacy waiting = run();
    Waits.until("the wait", () -> store.watchers() == 1);
    waiting.close();
    assertEquals(0, store.watchers());
    store.refuse(true);
    Candidacy pausing = run();
    Waits.until("the failure", () -> pausing.failure().isPresent());
    pausing.close();
    store.refuse(false);
    Waits.until("nothing to be left", () -> engine.residue() == 0);
    assertEquals(0, work.starts.get());
  }

  @Test
  void aGrantDuringTheCloseIsReleasedAndNoWorkBegins() throws Exception {
    CompletableFuture<Candidacy> self = new CompletableFuture<>();
    CompletableFuture<Background<Boolean>> closing = new CompletableFuture<>();
    store.onNextCall(
        Op.ACQUIRE,
        new FakeStore.CallHook() {
          @Override
          public void before() {}

          @Override
          public void after() {
            closing.complete(
                inBackground(
                    () -> {
                      self.join().close();
                      return true;
                    }));
            Waits.until("the interrupt", () -> Thread.currentThread().isInterrupted());
          }
        });
    self.complete(run());
    assertTrue(get(closing).get());
    assertEquals(0, work.starts.get());
    assertNothingLeft();
    assertEquals(1, store.calls(Op.ACQUIRE));
  }

  @Test
  void closingAtAnyMomentLeavesNothing() throws Exception {
    for (int i = 0; i < 300; i++) {
      work.begun.clear();
      int before = store.calls(Op.ACQUIRE);
      LeaderElection.LeaderWork brief = leadership -> work.starts.incrementAndGet();
      LeaderElection.LeaderWork counted =
          leadership -> {
            try {
              brief.lead(leadership);
            } finally {
              work.stops.incrementAndGet();
            }
          };
      Candidacy candidacy = engine.election("a").start(counted);
      int campaigns = i % 4;
      advanceUntil("some campaigns", () -> store.calls(Op.ACQUIRE) >= before + campaigns);
      candidacy.close();
      assertNothingLeft();
    }
  }

  @Test
  void twoCandidatesOfOneClientLeadInTurn() throws Exception {
    Work other = new Work();
    try (Candidacy first = run()) {
      Lease firstLed = work.next();
      try (Candidacy second = engine.election("a").start(other)) {
        assertFalse(second.isLeader());
        Waits.until("it to wait", () -> engine.holdings.queues.of("a").isBusy(Share.EXCLUSIVE));
        first.close();
        Lease secondLed = other.next();
        assertTrue(secondLed.fencingToken() > firstLed.fencingToken());
        assertTrue(second.isLeader());
        assertFalse(first.isLeader());
      }
    }
    assertNothingLeft();
  }

  @Test
  void anotherClientsCandidateFollows() throws Exception {
    Work other = new Work();
    DefaultLockClient client = anotherClient();
    Candidacy first = run();
    work.next();
    try (Candidacy second = client.election("a").start(other)) {
      Waits.until("it to wait", () -> store.watchers() == 1);
      first.close();
      other.next();
      assertTrue(second.isLeader());
    }
    assertNothingLeft();
    Waits.until("nothing to be left", () -> client.residue() == 0);
  }

  @Test
  void closingTheClientEndsLeadersAndCandidates() throws Exception {
    Work other = new Work();
    Candidacy leading = run();
    Lease leadership = work.next();
    Candidacy waiting = engine.election("a").start(other);
    engine.close();
    assertNothingLeft();
    assertEquals(0, other.starts.get());
    // The work had time to end, so there is no loss.
    assertFalse(leadership.onLoss().isDone());
    assertFalse(leading.isLeader());
    leading.close();
    waiting.close();
    Waits.until("no thread to be left", () -> candidates().isEmpty());
    assertThrows(IllegalStateException.class, () -> engine.election("a"));
  }

  @Test
  void anElectionOfAClosedClientRunsNothing() {
    LeaderElection election = engine.election("a");
    engine.close();
    assertThrows(IllegalStateException.class, () -> election.start(work));
    assertThrows(IllegalStateException.class, () -> election.observe(leader -> {}));
    assertEquals(0, engine.residue());
    assertTrue(candidates().isEmpty());
  }

  @Test
  void closingTheClientWaitsForWorkThatDoesNotEndNoLongerThanForItsRequests() throws Exception {
    work.end(leadership -> awaitUninterruptibly(over));
    Candidacy candidacy = run();
    Lease leadership = work.next();
    long begunAt = time.nanoTime();
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close();
              return true;
            });
    advanceUntil("the end", closing.result::isDone);
    assertTrue(closing.get());
    assertTrue(
        time.nanoTime() - begunAt <= REQUEST_TIMEOUT.multipliedBy(2).plusMillis(200).toNanos());
    assertEquals(LossReason.CLOSED, get(leadership.onLoss()).reason());
    assertFalse(store.holds("a"));
    assertEquals(0, work.stops.get());
    over.countDown();
    candidacy.close();
    assertNothingLeft();
    Waits.until("no thread to be left", () -> candidates().isEmpty());
  }

  @Test
  void workThatClosesTheClientDoesNotWaitForItself() throws Exception {
    CompletableFuture<Boolean> heldAfterwards = new CompletableFuture<>();
    long begunAt = time.nanoTime();
    work.end(
        leadership -> {
          engine.close();
          heldAfterwards.complete(leadership.isHeld());
        });
    Candidacy candidacy = run();
    assertFalse(get(heldAfterwards));
    assertEquals(begunAt, time.nanoTime());
    candidacy.close();
    assertNothingLeft();
  }

  @Test
  void aDrainEndsWhenTheWorkHasEnded() throws Exception {
    work.end(leadership -> awaitUninterruptibly(over));
    var unused = run();
    Lease leadership = work.next();
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close(TTL.multipliedBy(5));
              return true;
            });
    Waits.until("the client to be closing", engine.engine::isClosed);
    Waits.until("the leadership to be withdrawn", () -> !leadership.isHeld());
    for (int i = 0; i < 8; i++) {
      int renewals = store.calls(Op.RENEW);
      advanceUntil("a renewal", () -> store.calls(Op.RENEW) > renewals);
    }
    over.countDown();
    advanceUntil("the end", closing.result::isDone);
    assertFalse(leadership.onLoss().isDone());
    assertNothingLeft();
  }

  @Test
  void aLeadershipThatEndsBeforeTheWorkBeginsIsNoLeadership() throws Exception {
    store.onNextCall(
        Op.ACQUIRE,
        new FakeStore.CallHook() {
          @Override
          public void before() {}

          @Override
          public void after() {
            // The reply takes longer than the lease lasts.
            time.pass(TTL.plusSeconds(1));
          }
        });
    try (Candidacy candidacy = run()) {
      Lease leadership = nextLeadership();
      assertTrue(leadership.isHeld());
      assertTrue(candidacy.isLeader());
      assertEquals(1, work.starts.get());
    }
    assertNothingLeft();
  }

  @Test
  void aLossAndACloseAtTheSameTimeEndTheWorkOnce() throws Exception {
    for (int i = 0; i < 200; i++) {
      Candidacy candidacy = run();
      Lease leadership = work.next();
      Background<Boolean> loss =
          inBackground(
              () -> {
                store.reportLoss("a", LossReason.TAKEN);
                return true;
              });
      candidacy.close();
      assertTrue(loss.get());
      assertNothingLeft();
      assertFalse(leadership.isHeld());
      // It may have been elected once more in between.
      work.begun.clear();
    }
  }

  @Test
  void theLeaseOfTheWorkIsALeaseLikeAnyOther() throws Exception {
    List<Object> seen = new ArrayList<>();
    CompletableFuture<Boolean> done = new CompletableFuture<>();
    work.end(
        leadership -> {
          seen.add(leadership.name());
          seen.add(leadership.effectiveTtl());
          leadership.renew();
          get(leadership.renewAsync());
          seen.add(leadership.callWhileHeld(() -> "worked"));
          BlockingQueue<LockEvent> events = eventsOf(leadership);
          store.reportLoss("a", LossReason.TAKEN);
          Waits.until("the event", () -> events.peek() instanceof LockEvent.Lost);
          assertThrows(LeaseLostException.class, leadership::ensureHeld);
          done.complete(true);
        });
    try (Candidacy candidacy = run()) {
      assertTrue(get(done));
      assertEquals(List.of("a", TTL, "worked"), seen);
      Waits.until("the next", () -> work.starts.get() == 2);
      assertTrue(candidacy.failure().isEmpty());
      assertTrue(candidacy.toString().contains("a"), candidacy::toString);
    }
    assertNothingLeft();
  }

  @Test
  void aCampaignMayBeTimedAsynchronousOrCancelled() throws Exception {
    LeaderElection election = engine.election("a");
    assertEquals("a", election.name());
    try (Lease leadership = election.campaign()) {
      assertEquals(leadership.fencingToken(), leader());
      assertTrue(anotherClient().election("a").tryCampaign(Duration.ZERO).isEmpty());
      CompletableFuture<Lease> later = election.campaignAsync();
      assertTrue(later.cancel(true));
      assertThrows(CancellationException.class, later::join);
    }
    assertTrue(election.leader().isEmpty());
    store.refuse(true);
    assertInstanceOf(
        LockConfigurationException.class,
        assertThrows(ExecutionException.class, () -> get(election.campaignAsync())).getCause());
    assertThrows(LockConfigurationException.class, election::leader);
    store.refuse(false);
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }
}
