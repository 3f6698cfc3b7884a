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

  /** Long enough for a poll with any spread. */
  private static final Duration NEXT_POLL = POLL.plusMillis(60);

  private final LeaderElection election = engine.election("a");

  /** A listener that collects the reported leaders. */
  private static final class Listener implements Consumer<Optional<Leader>> {
    final BlockingQueue<Optional<Leader>> calls = new LinkedBlockingQueue<>();

    @Override
    public void accept(Optional<Leader> leader) {
      calls.add(leader);
    }
  }

  private Optional<Leader> next(Listener listener) {
    advanceUntil("a call", () -> !listener.calls.isEmpty());
    return listener.calls.remove();
  }

  private long nextToken(Listener listener) {
    return next(listener).orElseThrow().fencingToken().orElseThrow();
  }

  /** Lets the client poll several times. */
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
    Listener none = new Listener();
    try (Registration registration = election.observe(none)) {
      assertEquals(Optional.empty(), next(none));
    }
    try (Lease leadership = engine.election("a", o -> o.label("me")).campaign()) {
      Listener listener = new Listener();
      try (Registration registration = election.observe(listener)) {
        Leader leader = next(listener).orElseThrow();
        assertEquals(Optional.of("me"), leader.label());
        assertEquals(leadership.fencingToken(), leader.fencingToken().orElseThrow());
        assertEquals(Optional.of(leader), election.leader());
      }
    }
    assertNothingLeft();
  }

  @Test
  void everyChangeIsReportedOnce() throws Exception {
    Listener listener = new Listener();
    try (Registration registration = election.observe(listener)) {
      assertEquals(Optional.empty(), next(listener));
      for (int i = 0; i < 3; i++) {
        Lease leadership = election.campaign();
        // Not before the next poll: the label is the same, and the token differs.
        assertEquals(leadership.fencingToken(), nextToken(listener));
        pollSomeTimes();
        assertTrue(listener.calls.isEmpty(), listener.calls::toString);
        leadership.close();
        assertEquals(Optional.empty(), next(listener));
      }
    }
    assertNothingLeft();
  }

  @Test
  void aLeaderThatFollowsWithinAnIntervalIsAnotherOne() throws Exception {
    store.watchesFail(true);
    Listener listener = new Listener();
    Lease first = election.campaign();
    try (Registration registration = election.observe(listener)) {
      assertEquals(first.fencingToken(), nextToken(listener));
      first.close();
      Lease second = election.campaign();
      assertEquals(second.fencingToken(), nextToken(listener));
      second.close();
    }
    assertNothingLeft();
  }

  @Test
  void aLeaderThatResignedBeforeTheObservationIsNeverReported() throws Exception {
    Lease leadership = election.campaign();
    Listener early = new Listener();
    CountDownLatch read = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    store.onNextCall(
        Op.INSPECT,
        new FakeStore.CallHook() {
          @Override
          public void before() {}

          @Override
          public void after() {
            // The store has answered that there is a leader, and the answer is on its way.
            read.countDown();
            awaitUninterruptibly(answer);
          }
        });
    Listener late = new Listener();
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
    List<Listener> all = new ArrayList<>();
    List<Registration> registrations = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      Listener listener = new Listener();
      all.add(listener);
      registrations.add(engine.election("a").observe(listener));
    }
    for (Listener listener : all) {
      assertEquals(Optional.empty(), next(listener));
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
    for (Listener listener : all) {
      assertEquals(leadership.fencingToken(), nextToken(listener));
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
    Listener slow = new Listener();
    Listener quick = new Listener();
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
    Listener listener = new Listener();
    try (Registration registration = election.observe(listener)) {
      assertEquals(leadership.fencingToken(), nextToken(listener));
      awaitQuiet();
      long begunAt = time.nanoTime();
      leadership.close();
      time.advance(Duration.ofNanos(LeaderWatch.MIN_PAUSE_NANOS));
      Waits.until("the call", () -> !listener.calls.isEmpty());
      assertEquals(Optional.empty(), listener.calls.remove());
      assertEquals(LeaderWatch.MIN_PAUSE_NANOS, time.nanoTime() - begunAt);
    }
    assertNothingLeft();
  }

  /** Waits for the end of the request that the new watch causes. */
  private void awaitQuiet() {
    advanceUntil("two requests", () -> store.calls(Op.INSPECT) >= 2);
  }

  @Test
  void manyHintsAreFewRequests() throws Exception {
    Listener listener = new Listener();
    try (Registration registration = election.observe(listener)) {
      assertEquals(Optional.empty(), next(listener));
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
    Listener listener = new Listener();
    try (Registration registration = election.observe(listener)) {
      assertEquals(Optional.empty(), next(listener));
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

  /** There are few threads to ask where there are no virtual threads. */
  @Test
  void requestsThatWaitForAThreadDoNotAddUp() throws Exception {
    DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, new OneThread(time));
    FakeStore.Gate gate = store.gate(Op.INSPECT);
    Listener first = new Listener();
    Listener second = new Listener();
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
    Listener listener = new Listener();
    try (client;
        Registration slow = client.election("a").observe(new Listener())) {
      first.awaitArrival();
      try (Registration waiting = client.election("b").observe(listener)) {
        time.advance(REQUEST_TIMEOUT.multipliedBy(3).minusMillis(1));
        FakeStore.Gate second = store.gate(Op.INSPECT);
        first.open();
        second.awaitArrival();
        time.advance(Duration.ofMillis(2));
        FakeStore.Gate third = store.gate(Op.INSPECT);
        second.open();
        assertEquals(Optional.empty(), listener.calls.poll(10, SECONDS));
        third.open();
      }
    }
  }

  @Test
  void nothingIsReportedDuringAnOutage() throws Exception {
    Lease leadership = election.campaign();
    Listener listener = new Listener();
    store.down(true);
    try (Registration registration = election.observe(listener)) {
      pollSomeTimes();
      assertTrue(listener.calls.isEmpty());
      store.down(false);
      assertEquals(leadership.fencingToken(), nextToken(listener));
      store.refuse(true);
      pollSomeTimes();
      assertTrue(listener.calls.isEmpty());
      assertThrows(LockConfigurationException.class, election::leader);
      store.refuse(false);
      leadership.close();
      assertEquals(Optional.empty(), next(listener));
    }
    assertNothingLeft();
  }

  @Test
  void aReplyThatIsLostIsAskedForAgain() throws Exception {
    Listener listener = new Listener();
    store.loseReply(Op.INSPECT);
    try (Registration registration = election.observe(listener)) {
      assertEquals(Optional.empty(), next(listener));
    }
    assertNothingLeft();
  }

  @Test
  void aLockOfAnotherKindHasNoLeader() throws Exception {
    for (Share share : List.of(Share.READ, Share.WRITE, Share.ofSemaphore(2, 5))) {
      store.occupy("a", share, Duration.ofDays(1));
      String message =
          assertThrows(LockConfigurationException.class, election::leader).getMessage();
      assertTrue(message.contains("\"a\" is in use as a"), message);
      Listener listener = new Listener();
      try (Registration registration = election.observe(listener)) {
        pollSomeTimes();
        assertTrue(listener.calls.isEmpty());
        store.free("a");
        assertEquals(Optional.empty(), next(listener));
      }
    }
    assertNothingLeft();
  }

  @Test
  void aListenerThatBlocksIsCalledWithTheLatestLeaderAfterThat() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    Listener blocked = new Listener();
    Listener other = new Listener();
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
  void aChangeThatIsRevertedWhileAListenerBlocksIsNotReported() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    Listener blocked = new Listener();
    Listener other = new Listener();
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
    Listener listener = new Listener();
    try (Registration registration =
        election.observe(
            leader -> {
              listener.accept(leader);
              throw new LinkageError("of the test");
            })) {
      assertEquals(Optional.empty(), next(listener));
      try (Lease leadership = election.campaign()) {
        assertEquals(leadership.fencingToken(), nextToken(listener));
      }
    }
    assertNothingLeft();
  }

  @Test
  void aClosedSubscriptionIsCalledNoMoreAndAsksNothing() throws Exception {
    Listener listener = new Listener();
    Registration registration = election.observe(listener);
    assertEquals(Optional.empty(), next(listener));
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
    assertTrue(listener.calls.isEmpty());
  }

  @Test
  void anAnswerThatComesAfterTheCloseIsDropped() throws Exception {
    Listener listener = new Listener();
    FakeStore.Gate gate = store.gate(Op.INSPECT);
    Registration registration = election.observe(listener);
    gate.awaitArrival();
    registration.close();
    gate.open();
    assertNothingLeft();
    Waits.until("no timed event", () -> engine.engine.timer.size() == 0);
    assertTrue(listener.calls.isEmpty());
  }

  @Test
  void aSubscriptionMayBeClosedByItsListener() throws Exception {
    Listener listener = new Listener();
    Registration[] registration = new Registration[1];
    CountDownLatch registered = new CountDownLatch(1);
    registration[0] =
        election.observe(
            leader -> {
              awaitUninterruptibly(registered);
              registration[0].close();
              listener.accept(leader);
            });
    registered.countDown();
    assertEquals(Optional.empty(), next(listener));
    assertNothingLeft();
  }

  @Test
  void aWatchThatFailsToBeginOrEndDoesNoHarm() throws Exception {
    store.watchesFail(true);
    store.unwatchingFails(true);
    Listener listener = new Listener();
    try (Registration registration = election.observe(listener)) {
      assertEquals(Optional.empty(), next(listener));
      assertEquals(0, store.watchers());
      store.watchesFail(false);
      pollSomeTimes();
      assertEquals(1, store.watchers());
    }
    assertNothingLeft();
  }

  @Test
  void closingTheClientEndsTheObservation() throws Exception {
    Listener listener = new Listener();
    DefaultLockClient client = anotherClient();
    Registration registration = client.election("a").observe(listener);
    assertEquals(Optional.empty(), next(listener));
    // before the campaign, or a late request would show the leader
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
    assertTrue(listener.calls.isEmpty());
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
