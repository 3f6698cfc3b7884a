package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisError;
import dev.interlock.tck.fault.RedisErrors;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import dev.interlock.tck.run.NotTestedException;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** FAULT: the backend survives the faults that its failure model declares. */
public abstract class FaultRules extends RuleTest {

  // --- FAULT-01 ---

  @Rule({"FAULT-01", "EXCL-01", "FENCE-01", "LOSS-02"})
  void randomFaultsWithinTheModelBreakNothing(@TempDir Path folder) throws Exception {
    RandomFaults faults = new RandomFaults(this, folder, System.nanoTime());
    faults.run(kit().harness().faultDuration());
    faults.assertEveryClientRecovers();
    List<Violation> violations = HistoryChecker.withinFailureModel().check(faults.history());
    if (!violations.isEmpty()) {
      fail(violations.get(0) + System.lineSeparator() + "during " + faults);
    }
    assertTrue(faults.leases() > 0, () -> "no client acquired a lock during " + faults);
  }

  @Rule("FAULT-01")
  void aForcedReleaseDoesWhatTheFailureModelSays() throws Exception {
    String name = newName();
    List<Event> history = new ArrayList<>();
    LeaseRecorder recorder = recorder("test", history);
    LockOptions options = options(timing().ttl().multipliedBy(3), false);
    ReleaseOutcome released = ReleaseOutcome.RELEASED;
    for (int i = 0; i < 3; i++) {
      LockClient first = client(options);
      LockClient second = client(options);
      long requestedAt = System.nanoTime();
      Lease forced = acquireAfter(released, first.lock(name));
      recorder.granted(forced, requestedAt);
      takeAway(second, name);
      requestedAt = System.nanoTime();
      Lease successor =
          acquireWithin(
              options.ttl().plus(bound()),
              second.lock(name),
              "the lock was not acquired after a forced release");
      recorder.granted(successor, requestedAt).end();
      released = successor.release();
    }
    HistoryChecker checker =
        info().failureModel().keepsExclusion(Fault.FORCED_RELEASE)
            ? HistoryChecker.withinFailureModel()
            : HistoryChecker.outsideFailureModel();
    for (Violation violation : checker.check(history)) {
      boolean promised =
          violation.kind() == Violation.Kind.OVERLAP
              ? info().failureModel().keepsExclusion(Fault.FORCED_RELEASE)
              : info().failureModel().keepsTokenOrder(Fault.FORCED_RELEASE);
      assertTrue(
          !promised, () -> "the failure model promises that this cannot happen: " + violation);
    }
  }

  // --- FAULT-02 ---

  @Rule("FAULT-02")
  @Requires(Capability.REPLICATED)
  void aMinorityMayDieAndTheClientRecoversFromADeadMajority() throws Exception {
    Server server = ownServerWithNodes();
    List<ServerNode> nodes = server.nodes();
    int minority = (nodes.size() - 1) / 2;
    assumeTestable(minority > 0, "the harness needs at least 3 nodes, and has " + nodes.size());
    LockClient client = client(server.uri(), longLived());
    String name = newName();
    Lease before = acquireNow(client.lock(name));
    each(nodes.subList(0, minority), ServerNode::kill);
    eventuallyRenewed(before, "with a minority dead");
    Lease during =
        acquireWithin(
            bound().multipliedBy(2),
            client.lock(newName()),
            "no lock was acquired with a minority of the nodes dead");
    assertReleased(during, "with a minority of the nodes dead");

    each(nodes.subList(minority, nodes.size() - minority), ServerNode::kill);
    assertFailsInTime(client);

    each(nodes.subList(0, nodes.size() - minority), ServerNode::restart);
    // Restarted nodes may abstain from voting until all earlier locks have ended.
    assertFree(
        longLived().ttl().plus(bound()),
        client.lock(newName()),
        "the client did not recover after the majority was back");
  }

  private void eventuallyRenewed(Lease lease, String when) throws InterruptedException {
    Duration limit = bound().multipliedBy(2);
    try {
      renewNow(lease, limit);
    } catch (
        LockUnavailableException e) { // for example during a leader election that takes too long
      fail(
          "a lease was not renewed " + when + " within " + text(limit) + "; the last failure: " + e,
          e);
    }
  }

  private void assertFailsInTime(LockClient client) {
    assertFailsInTime(client.lock(newName())::tryAcquire, "an attempt without a living store");
    assertFailsInTime(() -> client.admin().inspect(newName()), "inspect");
  }

  @Rule("FAULT-02")
  @Requires(value = Capability.REPLICATED, absent = true)
  void operationsFailInTimeOnADeadServerAndRecover() throws Exception {
    Server server = ownServerWithNodes();
    LockClient client = client(server.uri(), longLived());
    acquireNow(client.lock(newName())).release();
    each(server.nodes(), ServerNode::kill);
    assertFailsInTime(client);
    each(server.nodes(), ServerNode::restart);
    assertFree(
        longLived().ttl().plus(bound()),
        client.lock(newName()),
        "the client did not recover after the server was back");
  }

  // --- FAULT-03 ---

  @Rule("FAULT-03")
  @Requires(Capability.REPLICATED)
  void aChangeOfLeaderCostsNoLease() throws Exception {
    assumeApplicable(!cannotHappen(Fault.LEADER_CHANGED), info().name() + " has no leader");
    Server server = ownServerWithNodes();
    Lease lease = acquireNow(client(server.uri(), longLived()).lock(newName()));
    ServerNode leader = null;
    for (ServerNode node : server.nodes()) {
      leader = node.isLeader() ? node : leader;
    }
    if (leader == null) {
      throw new NotTestedException("no node of the harness reports to be the leader");
    }
    leader.kill();
    eventuallyRenewed(lease, "after a change of leader");
    assertHeld(lease, "a change of leader cost the lease");
    leader.restart();
    assertStillHeld(server, lease);
  }

  @Rule("FAULT-03")
  @Requires(value = Capability.REPLICATED, absent = true)
  void aRestartWithDataCostsNoLeaseIfTheModelSaysSo() throws Exception {
    assumeApplicable(
        info().failureModel().keepsExclusion(Fault.SERVER_RESTARTED),
        info().name() + " does not promise exclusion across a restart");
    Server server = ownServerWithNodes();
    Lease lease = acquireNow(client(server.uri(), longLived()).lock(newName()));
    each(server.nodes(), RuleTest::killAndRestart);
    eventuallyRenewed(lease, "after a restart of the server");
    assertStillHeld(server, lease);
  }

  private void assertStillHeld(Server server, Lease lease) {
    assertHeld(lease, "a lease was lost");
    try {
      assertRefused(
          client(server.uri(), longLived()).lock(lease.name()),
          "another client acquired the lock of a lease that is held");
    } catch (LockUnavailableException e) {
      // a restarted node may not vote yet, which grants nothing
    }
    lease.release();
  }

  // --- FAULT-04 ---

  @Rule({"FAULT-04", "EXCL-05"})
  void theAnswerToAnAttemptMayBeLost() throws Exception {
    eachAnswerLost(SpoiledAnswers::attempt, SpoiledAnswers::attemptOnHeldLock);
  }

  @Rule({"FAULT-04", "EXCL-05"})
  void anAnswerToAWaiterMayBeLost() throws Exception {
    eachAnswerLost(SpoiledAnswers::waiting, SpoiledAnswers::waitingForHeldLock);
  }

  @Rule("FAULT-04")
  void theAnswerToARenewalMayBeLost() throws Exception {
    eachAnswerLost(
        SpoiledAnswers::renewal,
        SpoiledAnswers::renewalOfAPermit,
        SpoiledAnswers::renewalOfASet,
        SpoiledAnswers::renewalInTheBackground);
  }

  @Rule({"FAULT-04", "LOSS-03"})
  void theAnswerToAReleaseMayBeLost() throws Exception {
    eachAnswerLost(
        SpoiledAnswers::release, SpoiledAnswers::deferredRelease, SpoiledAnswers::closing);
  }

  @Rule("FAULT-04")
  @ResourceLock(MANY_CLIENTS)
  void theAnswerToAnAdministrativeCallMayBeLost() throws Exception {
    eachAnswerLost(
        SpoiledAnswers::inspection, SpoiledAnswers::forcedRelease, SpoiledAnswers::revocation);
  }

  @SafeVarargs
  private void eachAnswerLost(Action<SpoiledAnswers>... scenarios) throws Exception {
    for (Action<SpoiledAnswers> scenario : scenarios) {
      SpoiledAnswers.each(this, List.of(Spoiler.losing(network())), scenario);
    }
  }

  @Rule("FAULT-04")
  @ResourceLock(STORE_ENTRIES)
  void aLostAnswerToABatchIsNoLoss() throws Exception {
    Network network = network();
    DirectBackend backend = new DirectBackend(this, network.uri());
    List<Grant> batch =
        backend.acquireAll(backend.largestBatch(), newName(), i -> timing().longTtl());
    for (int earlier = 0; earlier < 3; earlier++) {
      int passing = earlier;
      try (Disturbance lost = network.everywhere(proxy -> proxy.loseAnswer(passing))) {
        assertNoneLost(emptyOn(LockUnavailableException.class, () -> backend.renewOnce(batch)));
        if (earlier == 0) { // a batch may have a single answer
          assertStruck(lost);
        }
      }
      assertNoneLost(Optional.of(backend.renewAll(batch)));
    }
  }

  private static void assertNoneLost(Optional<List<Renewal>> answers) {
    DirectBackend.assertNoneLost(answers.orElse(List.of()), "a lost answer was taken for a loss");
  }

  // --- FAULT-05 ---

  @Rule("FAULT-05")
  void anAttemptMayBeRefused() throws Exception {
    eachCommandRefused(SpoiledAnswers::attempt, SpoiledAnswers::attemptOnHeldLock);
  }

  @Rule("FAULT-05")
  void aWaiterMayBeRefused() throws Exception {
    eachCommandRefused(SpoiledAnswers::waiting, SpoiledAnswers::waitingForHeldLock);
  }

  @Rule("FAULT-05")
  void aRenewalMayBeRefused() throws Exception {
    eachCommandRefused(SpoiledAnswers::renewal, SpoiledAnswers::renewalInTheBackground);
  }

  @Rule({"FAULT-05", "LOSS-03"})
  void aReleaseMayBeRefused() throws Exception {
    eachCommandRefused(SpoiledAnswers::release, SpoiledAnswers::closing);
  }

  @Rule("FAULT-05")
  void anAdministrativeCallMayBeRefused() throws Exception {
    eachCommandRefused(
        SpoiledAnswers::inspection, SpoiledAnswers::forcedRelease, SpoiledAnswers::revocation);
  }

  @Rule("FAULT-05")
  void everythingMayBeRefusedForAWhile() throws Exception {
    SpoiledAnswers.each(this, refusals(Integer.MAX_VALUE), SpoiledAnswers::refusedForAWhile);
  }

  @Rule("FAULT-05")
  void aReleaseThatOneServerRefusesIsRepeatedThere() throws Exception {
    require(Capability.REPLICATED);
    RedisErrors proxies = redisErrors();
    Network network = network();
    int minority = (network.proxies().size() - 1) / 2;
    assumeTestable(minority > 0, "this needs at least three servers");
    String name = newName();
    Lease lease = acquireNow(client(proxies.uri(), longLived()).lock(name));
    LockClient other = client(network, longLived());
    try (RedisErrors.ActiveErrors refused = proxies.answerAtFirstServer(RedisError.BUSY)) {
      lease.release();
      assumeTestable(refused.awaitHit(bound()), "the first server was not asked");
    }
    // Without these, the lock is only granted if the first server grants it.
    network.proxies().subList(1, 1 + minority).forEach(FaultProxy::cut);
    assertFree(
        longLived().ttl().dividedBy(2),
        other.lock(name),
        "a release that one server refused was not repeated there");
  }

  @Rule({"FAULT-05", "WAIT-02"})
  void aTimedAttemptRidesOutTransientErrors() throws Exception {
    for (RedisError error : List.of(RedisError.LOADING, RedisError.BUSY)) {
      RedisErrors proxies = redisErrors();
      DistributedLock lock = client(proxies.uri(), longLived()).lock(newName());
      Future<Optional<Lease>> attempt;
      try (RedisErrors.ActiveErrors errors = proxies.answer(error, 0, Integer.MAX_VALUE)) {
        attempt = inThread(() -> lock.tryAcquire(bound().multipliedBy(2)));
        assumeTestable(
            errors.awaitHit(bound()), "the client sent no command that the proxy could refuse");
        sleep(Duration.ofMillis(200));
      }
      within(bound().multipliedBy(3), attempt, "an attempt did not end")
          .orElseGet(() -> fail("an attempt did not ride out " + error + ": it returned empty"))
          .release();
    }
  }

  @Rule("FAULT-05")
  void theServerMayForgetItsScripts() throws Exception {
    List<RedisErrors> proxies = new ArrayList<>();
    List<Future<?>> scenarios = new ArrayList<>();
    for (Action<SpoiledAnswers> scenario :
        List.<Action<SpoiledAnswers>>of(
            SpoiledAnswers::renewal, // first, since the others find a lease that expired
            SpoiledAnswers::renewalOfASet,
            SpoiledAnswers::attempt,
            SpoiledAnswers::attemptOnHeldLock,
            SpoiledAnswers::waiting,
            SpoiledAnswers::release,
            SpoiledAnswers::deferredRelease,
            SpoiledAnswers::inspection,
            SpoiledAnswers::forcedRelease,
            SpoiledAnswers::revocation)) {
      // of its own, so that no scenario sends the scripts for another
      RedisErrors own = redisErrors();
      proxies.add(own);
      scenarios.add(
          doInThread(() -> SpoiledAnswers.each(this, List.of(Spoiler.forgetting(own)), scenario)));
    }
    allWithin(Duration.ofMinutes(4), scenarios, "a scenario with forgotten scripts did not end");
    assumeApplicable(
        proxies.stream().anyMatch(RedisErrors::refusedDigests),
        info().name() + " sends no scripts by their digests");
  }

  @SafeVarargs
  private void eachCommandRefused(Action<SpoiledAnswers>... scenarios) throws Exception {
    for (Action<SpoiledAnswers> scenario : scenarios) {
      SpoiledAnswers.each(this, refusals(1), scenario);
    }
  }

  private List<Spoiler> refusals(int count) throws Exception {
    List<Spoiler> refusals = new ArrayList<>();
    for (RedisError error : RedisError.values()) {
      refusals.add(Spoiler.refusing(redisErrors(), error, count));
    }
    return refusals;
  }

  // --- FAULT-06 ---

  @Rule({"FAULT-06", "REL-02", "LOSS-03"})
  void permissionsMayBeTakenAwayAndGivenBack() throws Exception {
    Server server = ownServer();
    Permissions permissions =
        server
            .permissions()
            .orElseThrow(() -> new NotTestedException("the harness cannot take permissions away"));
    // Long enough for a session to be confirmed, short enough for the test to wait.
    LockOptions options = options(timing().renewedTtl().multipliedBy(2), true);
    LockClient client = client(permissions.uri(), options);
    LockClient other = client(permissions.uri(), options);
    Lease released = acquireNow(client.lock(newName()));
    CompletableFuture<LeaseLostException> lost = released.onLoss();
    Lease kept = acquireNow(client.lock(newName(), renewed(timing().longTtl())));
    Lease renewed = acquireNow(client.lock(newName(), renewed(timing().renewedTtl())));
    CompletableFuture<Optional<Lease>> waiter =
        other.lock(kept.name()).tryAcquireAsync(timing().longTtl());
    awaitQueued(client, kept.name(), 1);
    renewNow(released, bound()); // so that the lease does not expire before its release
    long validUntil = System.nanoTime() + renewed.remainingValidity().toNanos();
    permissions.deny();
    ReleaseOutcome outcome;
    try {
      outcome = released.release();
      for (String name : List.of(released.name(), kept.name(), newName())) {
        Optional<Optional<Lease>> granted =
            emptyOn(LockException.class, other.lock(name)::tryAcquire);
        assertTrue(
            granted.flatMap(lease -> lease).isEmpty(), "a lock was granted without permission");
      }
      sleep(renewed().ttl().dividedBy(2)); // at least one renewal is refused
      assertHeld(kept, "a lease was lost before its validity was over");
      boolean heldWhileValid = renewed.isHeld() || System.nanoTime() - validUntil >= 0;
      assertTrue(
          heldWhileValid, "a lease was lost by a renewal that was refused, with validity left");
    } finally {
      permissions.allow();
    }
    assertEquals(
        ReleaseOutcome.UNKNOWN, outcome, "the outcome of a release that the store refused");
    assertFree(
        maxLifetime(released),
        other.lock(released.name()),
        "a refused release was not repeated when it was allowed again");
    assertFalse(lost.isDone(), "onLoss() completed for a lease that was released");
    renewNow(kept, bound());
    assertReleased(
        kept, "the store had freed the lock of a lease while the permissions were taken away");
    emptyOn(
            LockException.class,
            () -> within(waiter, "a waiter was not served")) // a refusal may have ended the wait
        .ifPresent(lease -> lease.ifPresent(Lease::release));
    assertFree(kept.effectiveTtl(), other.lock(kept.name()), "the lock is not free");
    renewed.release();
    acquireUndoubted(client).release();
  }

  // --- FAULT-07 ---

  @Rule("FAULT-07")
  void thePasswordMayBeChanged() throws Exception {
    Permissions permissions =
        ownServer()
            .permissions()
            .orElseThrow(() -> new NotTestedException("the harness has no client with a password"));
    LockOptions options = options(timing().longTtl(), true);
    LockClient client = client(permissions.uri(), options);
    LockClient other = client(permissions.uri(), options);
    Lease kept = acquireNow(client.lock(newName()));
    CompletableFuture<Lease> waiter = other.lock(kept.name()).acquireAsync();
    awaitQueued(client, kept.name(), 1);
    assumeTestable(
        permissions.changePassword(), "the harness cannot change the password of a client");
    eventuallyRenewed(kept, "after a change of the password");
    assertFree(
        bound().multipliedBy(2),
        client.lock(newName()),
        "the client acquired no lock after a change of the password");
    acquireNow(client(permissions.uri(), options).lock(newName())).release();
    assertFalse(waiter.isDone(), "a change of the password ended the wait for a lock");
    assertReleased(kept, "a change of the password cost the lease");
    within(waiter, "a waiter was not served after a change of the password").release();
  }
}
