package dev.interlock.internal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection;
import dev.interlock.LeaderElection.Leader;
import dev.interlock.Lease;
import dev.interlock.LockConfigurationException;
import dev.interlock.Registration;
import dev.interlock.internal.FakeStore.Op;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class ObserveTest extends EngineFixture {

  private static final Duration POLL = RENEWED.pollInterval();

  /** Long enough for a poll, whatever it is spread by. */
  private static final Duration NEXT_POLL = POLL.plusMillis(60);

  private final LeaderElection election = engine.election("a");

  /** What an observer is told. */
  private static final class Told implements Consumer<Optional<Leader>> {
    final BlockingQueue<Optional<Leader>> calls = new LinkedBlockingQueue<>();

    @Override
    public void accept(Optional<Leader> leader) {
      calls.add(leader);
    }
  }

  private Optional<Leader> next(Told told) {
    advanceUntil("a call", () -> !told.calls.isEmpty());
    return told.calls.remove();
  }

  private long nextToken(Told told) {
    return next(told).orElseThrow().fencingToken().orElseThrow();
  }

  /** Lets the store be asked some more times. */
  private void pollSomeTimes() {
    int before = store.calls(Op.INSPECT);
    advanceUntil("some polls", () -> store.calls(Op.INSPECT) >= before + 4);
  }

  private void assertNothingLeft() {
    advanceUntil("nothing to be left", () -> engine.residue() == 0);
    assertEquals(0, store.watchers());
  }

  @Test
  void theFirstCallIsThePresentLeaderOrNone() throws Exception {
    Told none = new Told();
    try (Registration registration = election.observe(none)) {
      assertEquals(Optional.empty(), next(none));
    }
    try (Lease leadership = engine.election("a", o -> o.label("me")).campaign()) {
      Told told = new Told();
      try (Registration registration = election.observe(told)) {
        Leader leader = next(told).orElseThrow();
        assertEquals(Optional.of("me"), leader.label());
        assertEquals(leadership.fencingToken(), leader.fencingToken().orElseThrow());
        assertEquals(Optional.of(leader), election.leader());
      }
    }
    assertNothingLeft();
  }

  @Test
  void everyChangeIsReportedOnce() throws Exception {
    Told told = new Told();
    try (Registration registration = election.observe(told)) {
      assertEquals(Optional.empty(), next(told));
      for (int i = 0; i < 3; i++) {
        Lease leadership = election.campaign();
        // Not before the store is asked again: the same label, and another token.
        assertEquals(leadership.fencingToken(), nextToken(told));
        pollSomeTimes();
        assertTrue(told.calls.isEmpty(), told.calls::toString);
        leadership.close();
        assertEquals(Optional.empty(), next(told));
      }
    }
    assertNothingLeft();
  }

  @Test
  void aLeaderThatFollowsWithinAnIntervalIsAnotherOne() throws Exception {
    store.watchesFail(true);
    Told told = new Told();
    Lease first = election.campaign();
    try (Registration registration = election.observe(told)) {
      assertEquals(first.fencingToken(), nextToken(told));
      first.close();
      Lease second = election.campaign();
      assertEquals(second.fencingToken(), nextToken(told));
      second.close();
    }
    assertNothingLeft();
  }

  @Test
  void whoHasResignedBeforeTheObservationBeganIsNeverReported() throws Exception {
    Lease leadership = election.campaign();
    Told early = new Told();
    CountDownLatch read = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    store.next(
        Op.INSPECT,
        new FakeStore.Fate() {
          @Override
          public void before() {}

          @Override
          public void after() {
            // The store has answered that there is a leader, and the answer is on its way.
            read.countDown();
            awaitUninterruptibly(answer);
          }
        });
    Told late = new Told();
    try (Registration registration = election.observe(early)) {
      read.await();
      leadership.close();
      try (Registration other = election.observe(late)) {
        answer.countDown();
        // The clock stands still, or the next answer might come before the call.
        Waits.until("the call", () -> !early.calls.isEmpty());
        assertEquals(leadership.fencingToken(), nextToken(early));
        assertEquals(Optional.empty(), next(late));
        assertEquals(Optional.empty(), next(early));
      }
    }
    assertNothingLeft();
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    Waits.until("the latch", () -> latch.getCount() == 0);
  }

  @Test
  void observersOfOneNameShareTheirRequests() throws Exception {
    List<Told> all = new ArrayList<>();
    List<Registration> registrations = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      Told told = new Told();
      all.add(told);
      registrations.add(engine.election("a").observe(told));
    }
    for (Told told : all) {
      assertEquals(Optional.empty(), next(told));
    }
    assertEquals(1, engine.residue());
    assertEquals(1, store.watchers());
    int before = store.calls(Op.INSPECT);
    long begunAt = time.nanoTime();
    pollSomeTimes();
    long intervals = (time.nanoTime() - begunAt) / POLL.toNanos();
    int requests = store.calls(Op.INSPECT) - before;
    assertTrue(requests <= intervals + 2, requests + " requests in " + intervals + " intervals");
    Lease leadership = election.campaign();
    for (Told told : all) {
      assertEquals(leadership.fencingToken(), nextToken(told));
    }
    registrations.subList(1, 10).forEach(Registration::close);
    leadership.close();
    assertEquals(Optional.empty(), next(all.get(0)));
    assertTrue(all.get(1).calls.isEmpty());
    registrations.forEach(Registration::close);
    assertNothingLeft();
  }

  @Test
  void theStoreIsAskedAsOftenAsTheMostFrequentObserverWants() throws Exception {
    Duration often = Duration.ofMillis(100);
    Told slow = new Told();
    Told quick = new Told();
    store.watchesFail(true);
    try (Registration first = election.observe(slow)) {
      assertEquals(Optional.empty(), next(slow));
      try (Registration second =
          engine.election("a", options -> options.pollInterval(often)).observe(quick)) {
        assertEquals(Optional.empty(), next(quick));
        int before = store.calls(Op.INSPECT);
        long begunAt = time.nanoTime();
        advanceUntil("ten", () -> store.calls(Op.INSPECT) >= before + 10);
        assertTrue(time.nanoTime() - begunAt < POLL.multipliedBy(3).toNanos());
      }
      pollSomeTimes();
      int before = store.calls(Op.INSPECT);
      long begunAt = time.nanoTime();
      advanceUntil("three", () -> store.calls(Op.INSPECT) >= before + 3);
      assertTrue(time.nanoTime() - begunAt > POLL.multipliedBy(2).toNanos());
    }
    assertNothingLeft();
  }

  @Test
  void aHintOfTheStoreIsFollowedBeforeTheNextPoll() throws Exception {
    Lease leadership = election.campaign();
    Told told = new Told();
    try (Registration registration = election.observe(told)) {
      assertEquals(leadership.fencingToken(), nextToken(told));
      awaitQuiet();
      long begunAt = time.nanoTime();
      leadership.close();
      time.advance(Duration.ofNanos(LeaderWatch.MIN_PAUSE_NANOS));
      Waits.until("the call", () -> !told.calls.isEmpty());
      assertEquals(Optional.empty(), told.calls.remove());
      assertEquals(LeaderWatch.MIN_PAUSE_NANOS, time.nanoTime() - begunAt);
    }
    assertNothingLeft();
  }

  /** Waits until the request that the new watch has hinted at is over. */
  private void awaitQuiet() {
    advanceUntil("two requests", () -> store.calls(Op.INSPECT) >= 2);
  }

  @Test
  void manyHintsAreFewRequests() throws Exception {
    Told told = new Told();
    try (Registration registration = election.observe(told)) {
      assertEquals(Optional.empty(), next(told));
      awaitQuiet();
      int before = store.calls(Op.INSPECT);
      for (int i = 0; i < 1_000; i++) {
        store.free("a");
      }
      time.advance(Duration.ofNanos(LeaderWatch.MIN_PAUSE_NANOS));
      Waits.until("a request", () -> store.calls(Op.INSPECT) > before);
      // The first may have been answered before the last hint came.
      assertTrue(store.calls(Op.INSPECT) <= before + 2);
    }
    assertNothingLeft();
  }

  @Test
  void aHintDuringARequestIsFollowedByAnother() throws Exception {
    Told told = new Told();
    try (Registration registration = election.observe(told)) {
      assertEquals(Optional.empty(), next(told));
      awaitQuiet();
      FakeStore.Gate gate = store.gate(Op.INSPECT);
      advanceUntil("a request", gate::hasArrival);
      int before = store.calls(Op.INSPECT);
      store.free("a");
      long begunAt = time.nanoTime();
      gate.open();
      Waits.until(
          "another",
          () -> {
            if (time.nanoTime() - begunAt < LeaderWatch.MIN_PAUSE_NANOS) {
              time.advance(Duration.ofMillis(1));
            }
            return store.calls(Op.INSPECT) > before;
          });
    }
    assertNothingLeft();
  }

  /** Where there are no virtual threads, there are few to ask. */
  @Test
  void requestsThatWaitForAThreadDoNotAddUp() throws Exception {
    DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, new OneThread(time));
    FakeStore.Gate gate = store.gate(Op.INSPECT);
    Told first = new Told();
    Told second = new Told();
    try (client;
        Registration slow = client.election("a").observe(first)) {
      gate.awaitArrival();
      try (Registration waiting = client.election("b").observe(second)) {
        for (int i = 0; i < 20; i++) {
          time.advance(REQUEST_TIMEOUT.multipliedBy(3));
        }
        gate.open();
        get(CompletableFuture.runAsync(() -> {}, client.engine.threads.observers));
        assertEquals(Optional.empty(), first.calls.take());
        assertEquals(Optional.empty(), second.calls.take());
        assertEquals(3, store.calls(Op.INSPECT));
      }
    }
  }

  @Test
  void theTimeoutOfARequestBeginsWhenItHasAThread() throws Exception {
    DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, new OneThread(time));
    FakeStore.Gate first = store.gate(Op.INSPECT);
    Told told = new Told();
    try (client;
        Registration slow = client.election("a").observe(new Told())) {
      first.awaitArrival();
      try (Registration waiting = client.election("b").observe(told)) {
        time.advance(REQUEST_TIMEOUT.multipliedBy(3).minusMillis(1));
        FakeStore.Gate second = store.gate(Op.INSPECT);
        first.open();
        second.awaitArrival();
        time.advance(Duration.ofMillis(2));
        FakeStore.Gate third = store.gate(Op.INSPECT);
        second.open();
        assertEquals(Optional.empty(), told.calls.poll(10, SECONDS));
        third.open();
      }
    }
  }

  @Test
  void whileTheStoreDoesNotAnswerNothingIsReported() throws Exception {
    Lease leadership = election.campaign();
    Told told = new Told();
    store.down(true);
    try (Registration registration = election.observe(told)) {
      pollSomeTimes();
      assertTrue(told.calls.isEmpty());
      store.down(false);
      assertEquals(leadership.fencingToken(), nextToken(told));
      store.refuse(true);
      pollSomeTimes();
      assertTrue(told.calls.isEmpty());
      assertThrows(LockConfigurationException.class, election::leader);
      store.refuse(false);
      leadership.close();
      assertEquals(Optional.empty(), next(told));
    }
    assertNothingLeft();
  }

  @Test
  void aReplyThatIsLostIsAskedForAgain() throws Exception {
    Told told = new Told();
    store.loseReply(Op.INSPECT);
    try (Registration registration = election.observe(told)) {
      assertEquals(Optional.empty(), next(told));
    }
    assertNothingLeft();
  }

  @Test
  void whatIsNoElectionHasNoLeader() throws Exception {
    for (Share share : List.of(Share.READ, Share.WRITE, Share.ofSemaphore(2, 5))) {
      store.occupy("a", share, Duration.ofDays(1));
      String message =
          assertThrows(LockConfigurationException.class, election::leader).getMessage();
      assertTrue(message.contains("\"a\" is in use as a"), message);
      Told told = new Told();
      try (Registration registration = election.observe(told)) {
        pollSomeTimes();
        assertTrue(told.calls.isEmpty());
        store.free("a");
        assertEquals(Optional.empty(), next(told));
      }
    }
    assertNothingLeft();
  }

  @Test
  void aListenerThatBlocksIsCalledWithTheLatestLeaderAfterThat() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    Told blocked = new Told();
    Told other = new Told();
    try (Registration first =
            election.observe(
                leader -> {
                  blocked.accept(leader);
                  awaitUninterruptibly(over);
                });
        Registration second = election.observe(other)) {
      assertEquals(Optional.empty(), next(blocked));
      assertEquals(Optional.empty(), next(other));
      long token = 0;
      for (int i = 0; i < 3; i++) {
        Lease leadership = election.campaign();
        token = leadership.fencingToken();
        assertEquals(token, nextToken(other));
        if (i < 2) {
          leadership.close();
          assertEquals(Optional.empty(), next(other));
        }
      }
      assertTrue(blocked.calls.isEmpty());
      over.countDown();
      assertEquals(token, nextToken(blocked));
      store.free("a");
      assertEquals(Optional.empty(), next(blocked));
      assertTrue(blocked.calls.isEmpty());
    }
    assertNothingLeft();
  }

  @Test
  void whatChangesBackWhileAListenerBlocksIsNoChange() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    Told blocked = new Told();
    Told other = new Told();
    try (Registration first =
            election.observe(
                leader -> {
                  blocked.accept(leader);
                  awaitUninterruptibly(over);
                });
        Registration second = election.observe(other)) {
      assertEquals(Optional.empty(), next(blocked));
      assertEquals(Optional.empty(), next(other));
      try (Lease leadership = election.campaign()) {
        assertEquals(leadership.fencingToken(), nextToken(other));
      }
      assertEquals(Optional.empty(), next(other));
      over.countDown();
      pollSomeTimes();
      assertTrue(blocked.calls.isEmpty(), blocked.calls::toString);
    }
    assertNothingLeft();
  }

  @Test
  void aListenerThatThrowsIsCalledAgain() throws Exception {
    Told told = new Told();
    try (Registration registration =
        election.observe(
            leader -> {
              told.accept(leader);
              throw new LinkageError("of the test");
            })) {
      assertEquals(Optional.empty(), next(told));
      try (Lease leadership = election.campaign()) {
        assertEquals(leadership.fencingToken(), nextToken(told));
      }
    }
    assertNothingLeft();
  }

  @Test
  void aClosedSubscriptionIsCalledNoMoreAndAsksNothing() throws Exception {
    Told told = new Told();
    Registration registration = election.observe(told);
    assertEquals(Optional.empty(), next(told));
    awaitQuiet();
    registration.close();
    registration.close();
    assertNothingLeft();
    assertEquals(0, engine.engine.timer.size());
    int asked = store.calls(Op.INSPECT);
    try (Lease leadership = election.campaign()) {
      assertTrue(leadership.isHeld());
      time.advance(NEXT_POLL.multipliedBy(3));
    }
    assertEquals(asked, store.calls(Op.INSPECT));
    assertTrue(told.calls.isEmpty());
  }

  @Test
  void anAnswerThatComesAfterTheCloseIsDropped() throws Exception {
    Told told = new Told();
    FakeStore.Gate gate = store.gate(Op.INSPECT);
    Registration registration = election.observe(told);
    gate.awaitArrival();
    registration.close();
    gate.open();
    assertNothingLeft();
    Waits.until("no timed event", () -> engine.engine.timer.size() == 0);
    assertTrue(told.calls.isEmpty());
  }

  @Test
  void aSubscriptionMayBeClosedByItsListener() throws Exception {
    Told told = new Told();
    Registration[] registration = new Registration[1];
    CountDownLatch known = new CountDownLatch(1);
    registration[0] =
        election.observe(
            leader -> {
              awaitUninterruptibly(known);
              registration[0].close();
              told.accept(leader);
            });
    known.countDown();
    assertEquals(Optional.empty(), next(told));
    assertNothingLeft();
  }

  @Test
  void aWatchThatFailsToBeginOrEndDoesNoHarm() throws Exception {
    store.watchesFail(true);
    store.unwatchingFails(true);
    Told told = new Told();
    try (Registration registration = election.observe(told)) {
      assertEquals(Optional.empty(), next(told));
      assertEquals(0, store.watchers());
      store.watchesFail(false);
      pollSomeTimes();
      assertEquals(1, store.watchers());
    }
    assertNothingLeft();
  }

  @Test
  void closingTheClientEndsTheObservation() throws Exception {
    Told told = new Told();
    DefaultLockClient client = anotherClient();
    Registration registration = client.election("a").observe(told);
    assertEquals(Optional.empty(), next(told));
    // before the campaign, or a request that is late would show the leader
    FakeStore.Gate gate = store.gate(Op.INSPECT);
    Lease leadership = election.campaign();
    advanceUntil("a request", gate::hasArrival);
    client.close();
    gate.open();
    registration.close();
    assertEquals(0, client.residue());
    assertEquals(0, store.watchers());
    leadership.close();
    time.advance(NEXT_POLL);
    assertTrue(told.calls.isEmpty());
  }

  @Test
  void observingAndClosingAtTheSameTimeLeavesNothing() throws Exception {
    for (int i = 0; i < 200; i++) {
      DefaultLockClient client = anotherClient();
      LeaderElection observed = client.election("a");
      Background<Boolean> observing =
          inBackground(
              () -> {
                try {
                  while (true) {
                    Registration first = observed.observe(leader -> {});
                    Registration second = observed.observe(leader -> {});
                    first.close();
                    if (client.engine.platform.random(2) == 0) {
                      second.close();
                    }
                  }
                } catch (IllegalStateException e) {
                  return true;
                }
              });
      Waits.until("some requests", () -> store.calls(Op.INSPECT) > 0);
      client.close();
      assertTrue(observing.get());
      assertEquals(0, client.residue());
      Waits.until("no watch", () -> store.watchers() == 0);
    }
  }
}
