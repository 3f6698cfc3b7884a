package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.DistributedLock;
import dev.interlock.LeaderElection;
import dev.interlock.LeaderElection.Candidacy;
import dev.interlock.LeaderElection.Leader;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.Registration;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** ELECT: elections. */
public abstract class ElectionRules extends RuleTest {

  /** Work that counts its calls, and leads until it is interrupted or may return. */
  private final class WatchedWork implements LeaderElection.LeaderWork {
    final AtomicInteger calls = new AtomicInteger();
    final AtomicInteger inside = new AtomicInteger();
    final AtomicInteger interrupts = new AtomicInteger();

    /** Holds back the end of the work after an interrupt. */
    private final CountDownLatch mayEnd;

    private volatile CountDownLatch mayReturn = new CountDownLatch(1);
    private volatile @Nullable Lease leadership;

    WatchedWork(boolean endsWhenInterrupted) {
      mayEnd = new CountDownLatch(endsWhenInterrupted ? 0 : 1);
    }

    @Override
    public void lead(Lease lease) throws Exception {
      leadership = lease;
      calls.incrementAndGet();
      if (inside.incrementAndGet() > 1) {
        calls.set(Integer.MIN_VALUE); // so that every later check of the count fails
      }
      try {
        mayReturn.await();
      } catch (InterruptedException e) {
        interrupts.incrementAndGet();
        mayEnd.await();
      } finally {
        inside.decrementAndGet();
      }
    }

    /** Waits until the work has been called that often, and returns its current lease. */
    Lease awaitCall(int count) {
      eventually(
          bound().multipliedBy(2), () -> calls.get() >= count, "a candidate was not elected");
      assertEquals(count, calls.get(), "calls of the work");
      Lease current = leadership;
      return current == null ? fail("the work was called without a lease") : current;
    }

    /** Lets the current call return. */
    void finish() {
      CountDownLatch current = mayReturn;
      mayReturn = new CountDownLatch(1);
      current.countDown();
    }

    void letEnd() {
      mayEnd.countDown();
    }
  }

  /** Stands for election until the test ends. */
  private Candidacy run(LockClient client, String name, LeaderElection.LeaderWork work) {
    return closing(client.election(name).start(work));
  }

  private Lease tryCampaign(LockClient client, String name) throws InterruptedException {
    return client
        .election(name)
        .tryCampaign(bound())
        .orElseGet(() -> fail("the only candidate was not elected within " + text(bound())));
  }

  // --- ELECT-01 ---

  @Rule("ELECT-01")
  void candidatesOfSeveralClientsNeverLeadTogether() throws Exception {
    String name = newName();
    Queue<Event> history = new ConcurrentLinkedQueue<>();
    Leaders leaders = new Leaders(new AtomicInteger(), new AtomicInteger());
    List<Future<?>> campaigning = new ArrayList<>();
    List<CountDownLatch> terms = new ArrayList<>();
    List<Candidacy> standing = new ArrayList<>();
    for (int c = 0; c < 3; c++) {
      LockClient client = client();
      LeaseRecorder recorder = recorder("client-" + c, history);
      campaigning.add(
          doInThread(
              () -> {
                for (int i = 0; i < 6; i++) {
                  long requestedAt = System.nanoTime();
                  try (Lease lease = client.election(name).campaign()) {
                    leaders.lead(recorder, lease, requestedAt);
                  }
                }
              }));
      CountDownLatch three = new CountDownLatch(3);
      terms.add(three);
      AtomicLong notBefore = new AtomicLong(System.nanoTime());
      standing.add(
          run(
              client,
              name,
              lease -> {
                leaders.lead(recorder, lease, notBefore.get());
                notBefore.set(System.nanoTime());
                three.countDown();
              }));
    }
    allWithin(Duration.ofSeconds(100), campaigning, "a candidate was not elected");
    for (CountDownLatch three : terms) {
      eventually(
          timing().longTtl(), () -> three.getCount() == 0, "a standing candidate was not elected");
    }
    standing.forEach(Candidacy::close);
    assertExclusive(history);
    assertEquals(1, leaders.maxAtOnce.get(), "leaders at one time");
  }

  /** Counts the simultaneous leaders. */
  private record Leaders(AtomicInteger leading, AtomicInteger maxAtOnce) {
    void lead(LeaseRecorder recorder, Lease lease, long requestedAt) throws InterruptedException {
      LeaseRecorder.Recorded recorded = recorder.granted(lease, requestedAt);
      maxAtOnce.accumulateAndGet(leading.incrementAndGet(), Math::max);
      try {
        sleep(Duration.ofMillis(1)); // gives a second leader time to appear
      } finally {
        leading.decrementAndGet();
        recorded.end();
      }
    }
  }

  @Rule("ELECT-01")
  void aLeaderKeepsAllOthersOutAndHoldsTheLockOfTheName() throws Exception {
    String name = newName();
    LockClient client = client();
    Lease leadership = tryCampaign(client, name);
    for (LockClient other : List.of(client, client())) {
      assertTrue(
          answer(() -> other.election(name).tryCampaign(Duration.ZERO)).isEmpty(),
          "two candidates lead");
      assertRefused(other.lock(name), "the lock of a leader was acquired");
    }
    renewNow(leadership, bound());
    leadership.release();
  }

  // --- ELECT-02 ---

  @Rule("ELECT-02")
  void aLeaderThatWasDeposedIsInterruptedAndCampaignsOnlyAfterItsWork() throws Exception {
    String name = newName();
    WatchedWork work = new WatchedWork(false);
    Candidacy candidacy = run(client(renewed()), name, work);
    try {
      Lease leadership = work.awaitCall(1);
      assertTrue(candidacy.isLeader(), "a leader is not shown as one");
      LockClient other = client();
      takeAway(other, name);
      within(
          renewed().ttl().dividedBy(2).plus(bound()),
          leadership.onLoss(),
          "a leader's loss was not signalled");
      boolean shownAsLeader = candidacy.isLeader();
      assertFalse(leadership.isHeld());
      eventually(() -> work.interrupts.get() == 1, "the work of a lost leader went on");
      Optional<Lease> next = other.election(name).tryCampaign(bound());
      assertEquals(1, work.calls.get(), "calls of the work before it has ended");
      next.orElseGet(() -> fail("nobody leads after the loss")).release();
      sleep(SHORT_WAIT.multipliedBy(3));
      assertEquals(1, work.calls.get(), "calls of the work before it has ended");
      // Nor may the candidate hold the lock before it has called its work.
      acquireNow(other.lock(name), "the candidate holds the lock before its work has ended")
          .release();
      shownAsLeader |= candidacy.isLeader();
      assertFalse(shownAsLeader, "a candidate that has lost is shown as the leader");
    } finally {
      work.letEnd();
    }
    work.awaitCall(2);
    assertTrue(candidacy.isLeader(), "a leader is not shown as one");
  }

  @Rule("ELECT-02")
  void aLeaderThatIsCutOffKnowsItBeforeAnotherLeads() throws Exception {
    String name = newName();
    Network network = network();
    WatchedWork work = new WatchedWork(true);
    Candidacy candidacy = run(client(network, renewed()), name, work);
    Lease leadership = work.awaitCall(1);
    LockClient other = client();
    Future<Boolean> overlap =
        overlap(other.election(name)::campaign, () -> candidacy.isLeader() || leadership.isHeld());
    assertNever(SHORT_WAIT, overlap, "two candidates lead");
    Disturbance partition = network.partition();
    within(
        maxLifetime(leadership),
        leadership.onLoss(),
        "the loss of a leader that is cut off was not signalled");
    eventually(() -> work.interrupts.get() >= 1, "the work of a lost leader went on");
    assertFalse(candidacy.isLeader(), "a candidate that has lost is shown as the leader");
    assertFalse(
        within(maxLifetime(leadership), overlap, "nobody leads after a leader was cut off"),
        "two candidates lead");
    assertStruck(partition);
  }

  // --- ELECT-03 ---

  @Rule("ELECT-03")
  void everybodySeesWhoLeads() throws Exception {
    String name = newName();
    LockClient observer = client();
    LockClient first = labelled("the first leader");
    LockClient second = labelled("the second leader");
    List<LockClient> everybody = List.of(first, second, observer);
    for (int i = 0; i < 2; i++) {
      LockClient candidate = everybody.get(i);
      String label = i == 0 ? "the first leader" : "the second leader";
      everybody.forEach(
          client ->
              eventually(
                  () -> client.election(name).leader().isEmpty(),
                  "a leader is shown although nobody leads"));
      Lease leadership = tryCampaign(candidate, name);
      for (LockClient client : everybody) {
        assertShown(answer(() -> client.election(name).leader()), label, leadership);
      }
      leadership.release();
    }
    assertTrue(observer.leases().isEmpty(), "a client that only asks for the leader has a lease");
  }

  private void assertShown(Optional<Leader> shown, String label, Lease leadership) {
    Leader leader = shown.orElseGet(() -> fail("no leader is shown"));
    assertShown(leader.label(), leader.fencingToken(), label, leadership);
  }

  /** Records the states that an observer is called with. */
  private final class Observed {
    private final Queue<Optional<Leader>> states = new ConcurrentLinkedQueue<>();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicBoolean concurrent = new AtomicBoolean();
    private volatile Optional<Leader> latest = Optional.empty();

    void accept(Optional<Leader> state) {
      if (inside.incrementAndGet() > 1) {
        concurrent.set(true);
      }
      latest = state;
      states.add(state);
      inside.decrementAndGet();
    }

    /** Waits until the latest state shows this leader, or nobody for null. */
    void await(@Nullable String label, String message) {
      eventually(
          longLived().pollInterval().plus(bound()),
          () ->
              !states.isEmpty()
                  && (label == null
                      ? latest.isEmpty()
                      : latest.isPresent() && latest.get().label().orElse(label).equals(label)),
          message);
      assertFalse(concurrent.get(), "a listener was called by two threads at once");
    }
  }

  @Rule("ELECT-03")
  void anObserverIsToldOfEveryLeaderThatStays() throws Exception {
    String name = newName();
    LockClient observer = client();
    Observed observed = new Observed();
    Registration registration = closing(observer.election(name).observe(observed::accept));
    observed.await(null, "an observer was not called with no leader");
    Lease first = tryCampaign(labelled("the first leader"), name);
    observed.await("the first leader", "an observer was not called with the leader");
    assertShown(observed.latest, "the first leader", first);
    LockClient second = labelled("the second leader");
    Future<Lease> waiting = inThread(second.election(name)::campaign);
    awaitQueued(observer, name, 1);
    Observed later = new Observed();
    Registration thrower =
        closing(
            observer
                .election(name)
                .observe(
                    state -> {
                      later.accept(state);
                      throw new IllegalStateException("a listener that always throws");
                    }));
    later.await("the first leader", "a second observer was not called with the current leader");
    first.release();
    Lease leadership = within(waiting, "nobody leads after a leader has resigned");
    observed.await("the second leader", "an observer was not called with the next leader");
    later.await(
        "the second leader", "a listener that had thrown was not called with the next leader");
    assertTrue(observer.leases().isEmpty(), "a client that only observes has a lease");
    assertTrue(
        answer(() -> observer.admin().inspect(name)).waiters().isEmpty(),
        "an observer is shown as a waiter");
    thrower.close();
    leadership.release();
    observed.await(null, "an observer was not called with no leader");
    registration.close();
    int calls = observed.states.size();
    Lease again = tryCampaign(second, name);
    sleep(longLived().pollInterval().plus(SHORT_WAIT));
    assertEquals(
        calls, observed.states.size(), "calls of a listener after its registration was closed");
    again.release();
  }

  // --- ELECT-04 ---

  @Rule("ELECT-04")
  void anotherLeadsAfterALeaderHasResigned() throws Exception {
    String name = newName();
    LockClient next = client();
    LockClient leaving = client();
    WatchedWork work = new WatchedWork(true);
    List<BiConsumer<Candidacy, Lease>> endings =
        List.of(
            (candidacy, lease) -> lease.release(),
            (candidacy, lease) -> candidacy.close(),
            (candidacy, lease) -> leaving.close());
    for (BiConsumer<Candidacy, Lease> ending : endings) {
      int calls = work.calls.get();
      Candidacy candidacy = run(leaving, name, work);
      Lease leadership = work.awaitCall(calls + 1);
      Future<Lease> waiting = inThread(next.election(name)::campaign);
      awaitQueued(next, name, 1);
      assertNever(SHORT_WAIT, waiting, "two candidates lead");
      ending.accept(candidacy, leadership);
      Lease led = within(waiting, "nobody leads after a leader has resigned");
      assertFalse(candidacy.isLeader(), "a candidate that has resigned is shown as the leader");
      work.finish();
      candidacy.close();
      led.release();
    }
  }

  /** Campaigns, and returns the effective TTL of its leadership. */
  static final class Campaign implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Lease lease = worker.client().election(arguments.get(0)).campaign();
      worker.keep(arguments.get(0), lease);
      return lease.effectiveTtl().toString();
    }
  }

  @Rule("ELECT-04")
  void anotherLeadsAfterALeaderWasKilled() throws Exception {
    String name = newName();
    OtherProcess leader = process(renewed());
    Duration ttl = Duration.parse(leader.call(bound().multipliedBy(2), Campaign.class, name));
    WatchedWork work = new WatchedWork(true);
    Candidacy candidacy = run(client(), name, work);
    sleep(SHORT_WAIT);
    assertEquals(0, work.calls.get(), "two candidates lead");
    leader.kill();
    eventually(ttl.plus(bound()), () -> work.calls.get() == 1, "nobody leads after a leader died");
    assertTrue(candidacy.isLeader(), "a leader is not shown as one");
  }

  @Rule("ELECT-04")
  void aCandidateThatWithdrewNeverLeads() throws Exception {
    String name = newName();
    LockClient leader = client();
    Lease leadership = tryCampaign(leader, name);
    LockClient withdrawing = client();
    CompletableFuture<Lease> cancelled = withdrawing.election(name).campaignAsync();
    WatchedWork work = new WatchedWork(true);
    Candidacy candidacy = run(withdrawing, name, work);
    assertNotAcquired(
        inThread(() -> withdrawing.election(name).tryCampaign(SHORT_WAIT)), SHORT_WAIT);
    assertTrue(cancelled.cancel(true), "two candidates lead");
    candidacy.close();
    leadership.release();
    DistributedLock lock = client().lock(name);
    assertFree(lock, "a candidate that withdrew leads");
    assertEquals(0, work.calls.get(), "calls of the work of a candidate that withdrew");
    assertFalse(candidacy.isLeader(), "a candidate that withdrew is shown as the leader");
  }

  // --- ELECT-05 ---

  @Rule("ELECT-05")
  void aCandidateStandsAgainAfterItsWorkHasReturnedOrThrown() throws Exception {
    String name = newName();
    AtomicInteger calls = new AtomicInteger();
    Candidacy candidacy =
        run(
            client(),
            name,
            lease -> {
              if (calls.incrementAndGet() % 2 == 0) {
                throw new IllegalStateException("work that fails");
              }
            });
    eventually(
        bound().multipliedBy(2),
        () -> calls.get() >= 4,
        "a candidate did not stand again after its work");
    candidacy.close();
    int before = calls.get();
    assertFree(client().lock(name), "a closed candidacy did not release its lock");
    sleep(SHORT_WAIT);
    assertEquals(before, calls.get(), "calls of the work after its candidacy was closed");
  }

  @Rule("ELECT-05")
  void aCandidateRidesOutAnOutageAndShowsIt() throws Exception {
    String name = newName();
    Network network = network();
    LockClient client =
        client(network, longLived().toBuilder().outageTimeout(Duration.ofMillis(500)).build());
    acquireNow(client.lock(newName())).release();
    WatchedWork work = new WatchedWork(true);
    Candidacy candidacy;
    Disturbance outage = network.cut();
    candidacy = run(client, name, work);
    eventually(
        bound().multipliedBy(2),
        () -> candidacy.failure().isPresent(),
        "a candidate does not report that it cannot reach the store");
    assertStruck(outage);
    assertEquals(0, work.calls.get(), "calls of the work while the store is out of reach");
    network.heal();
    eventually(
        renewed().ttl().multipliedBy(2).plus(bound()),
        () -> work.calls.get() == 1,
        "a candidate did not stand again after an outage");
    eventually(
        () -> candidacy.failure().isEmpty(),
        "the failure is still shown after the candidate has recovered");
  }

  @Rule("ELECT-05")
  void closingWaitsForTheWorkAndResigns() throws Exception {
    String name = newName();
    LockClient client = client();
    WatchedWork work = new WatchedWork(false);
    Candidacy candidacy = run(client, name, work);
    Lease leadership = work.awaitCall(1);
    Future<?> closing = doInThread(candidacy::close);
    eventually(() -> work.interrupts.get() == 1, "the work was not interrupted");
    assertNever(SHORT_WAIT, closing, "closing did not wait for the work");
    assertRefused(client().lock(name), "a leader resigned before its work had ended");
    work.letEnd();
    within(closing, "closing did not return after the work had ended");
    assertFalse(leadership.isHeld(), "a closed candidacy leads");
    assertFree(client().lock(name), "a closed candidacy did not release its lock");
    sleep(SHORT_WAIT);
    assertEquals(1, work.calls.get(), "calls of the work");
    candidacy.close();
  }

  @Rule("ELECT-05")
  void theWorkCanEndItsOwnCandidacy() throws Exception {
    String name = newName();
    AtomicInteger calls = new AtomicInteger();
    CompletableFuture<Candidacy> own = new CompletableFuture<>();
    CompletableFuture<Boolean> closed = new CompletableFuture<>();
    own.complete(
        run(
            client(),
            name,
            lease -> {
              calls.incrementAndGet();
              own.join().close();
              closed.complete(true);
            }));
    within(closed, "close() did not return when the work closed its own candidacy");
    assertFree(client().lock(name), "a closed candidacy did not release its lock");
    sleep(SHORT_WAIT);
    assertEquals(1, calls.get(), "calls of the work");
  }
}
