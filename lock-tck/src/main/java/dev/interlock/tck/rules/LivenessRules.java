package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.LateError;
import dev.interlock.tck.run.Pulse;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;

/** WAIT: a waiter acquires the lock, or learns in time that it does not. */
public abstract class LivenessRules extends RuleTest {
  private static final int WAITERS = 6;

  // --- WAIT-01, WAIT-02 ---

  @Rule("WAIT-01")
  void anAttemptWithoutATimeoutDoesNotWaitForTheHolder() throws Exception {
    String name = newName();
    LockClient holder = client();
    Lease lease = acquireNow(holder.lock(name));
    for (LockClient client : List.of(holder, client())) {
      List<Callable<Optional<Lease>>> attempts =
          List.of(
              () -> answer(client.lock(name)::tryAcquire),
              () -> answer(() -> client.lock(name).tryAcquire(Duration.ZERO)));
      for (Callable<Optional<Lease>> attempt : attempts) {
        assertTrue(
            within(
                    inThread(attempt),
                    "tryAcquire() or tryAcquire(0) did not return while the lock was held")
                .isEmpty(),
            "tryAcquire() or tryAcquire(0) got a lock that is held");
      }
    }
    lease.release();
    client().lock(name).tryAcquire(Duration.ZERO).orElseThrow().close();
  }

  @Rule("WAIT-02")
  void aTimedAttemptOnAHeldLockEndsInTime() throws Exception {
    String name = newName();
    LockClient holder = client();
    Lease lease = acquireNow(holder.lock(name));
    Duration timeout = Duration.ofMillis(700);
    for (LockClient client : List.of(holder, client())) {
      DistributedLock lock = client.lock(name);
      assertEndsInTime(timeout, () -> lock.tryAcquire(timeout));
      assertEndsInTime(
          timeout,
          () ->
              within(
                  timeout.plus(bound()),
                  lock.tryAcquireAsync(timeout),
                  "tryAcquireAsync did not end"));
    }
    lease.release();
  }

  /** Repeats the attempt, and checks its time, while the store is too busy to answer. */
  private void assertEndsInTime(Duration timeout, Question<Optional<Lease>, Exception> attempt)
      throws Exception {
    Optional<Lease> acquired =
        answer(
            () -> {
              EndCheck end = new EndCheck(timeout);
              try {
                Optional<Lease> answer = attempt.ask();
                end.assertInTime();
                return answer;
              } catch (LockUnavailableException e) {
                end.assertInTime();
                throw e;
              }
            });
    assertTrue(acquired.isEmpty(), "a held lock was acquired");
  }

  /** Checks that an attempt ends when its time is over. */
  private final class EndCheck {
    private final Duration timeout;
    private final Pulse.Limit limit;
    private final long start = System.nanoTime();

    EndCheck(Duration timeout) {
      this.timeout = timeout;
      this.limit = Pulse.ofThisJvm().limit(timeout.plus(bound()));
    }

    void assertInTime() {
      Duration took = since(start);
      assertTrue(
          took.compareTo(timeout) >= 0,
          () -> "the attempt ended after " + text(took) + ", earlier than its " + text(timeout));
      assertFalse(
          limit.isOver(),
          () -> "the attempt ended after " + text(took) + ", later than its time and the bound");
    }
  }

  private void assertGivesUp(DistributedLock lock, Duration timeout, String fault) {
    EndCheck end = new EndCheck(timeout);
    assertThrows(
        LockUnavailableException.class,
        () -> lock.tryAcquire(timeout),
        "an attempt that never reached the store must fail: " + fault);
    end.assertInTime();
  }

  @Rule("WAIT-02")
  void aTimedAttemptEndsInTimeDuringAPartition() throws Exception {
    testUnreachableStore(FaultProxy::partition);
  }

  @Rule("WAIT-02")
  void aTimedAttemptEndsInTimeWhileConnectionsAreRefused() throws Exception {
    testUnreachableStore(FaultProxy::cut);
  }

  private void testUnreachableStore(Function<FaultProxy, NetworkFault> fault) throws Exception {
    Network network = network();
    LockClient client = client(network, longLived());
    acquireNow(client.lock(newName())).release();
    assumeTestable(
        network.traffic().toServer().received() > 0, "the client's requests do not pass the proxy");
    Duration timeout = Duration.ofSeconds(1);
    DistributedLock lock = client.lock(newName());
    try (Disturbance unreachable = network.everywhere(fault)) {
      assertGivesUp(lock, timeout, unreachable.toString());
      assertFailsInTime(lock::tryAcquire, "tryAcquire()");
    }
    assertFree(lock, "the client did not recover after the fault");
  }

  @Rule("WAIT-02")
  void aTimedAttemptEndsInTimeWhileTheServerIsPaused() throws Exception {
    Server server = ownServerWithNodes();
    LockClient client = client(server.uri(), longLived());
    DistributedLock lock = client.lock(newName());
    acquireNow(lock).release();
    Duration timeout = Duration.ofSeconds(1);
    each(server.nodes(), ServerNode::pause);
    try {
      assertGivesUp(lock, timeout, "the server is paused");
    } finally {
      each(server.nodes(), ServerNode::resume);
    }
    assertFree(longLived().ttl().plus(bound()), lock, "the client did not recover after the pause");
  }

  @Rule("WAIT-02")
  void aTimedAttemptRidesOutAShortOutage() throws Exception {
    testOutage(FaultProxy::cut);
  }

  @Rule("WAIT-02")
  void aTimedAttemptRidesOutConnectionsThatAreClosedAtOnce() throws Exception {
    testOutage(FaultProxy::hangUp);
  }

  private void testOutage(Function<FaultProxy, NetworkFault> fault) throws Exception {
    Network network = network();
    LockClient client = client(network, longLived());
    DistributedLock lock = client.lock(newName());
    acquireNow(lock).release();
    Future<Optional<Lease>> attempt;
    try (Disturbance outage = network.everywhere(fault)) {
      attempt = inThread(() -> lock.tryAcquire(timing().longTtl()));
      assertNever(Duration.ofMillis(500), attempt, "a timed attempt ended during a short outage");
      assertStruck(bound(), outage);
    }
    assertTrue(
        within(renewed().ttl().plus(bound()), attempt, "the lock was not acquired after the outage")
            .isPresent(),
        "a free lock was not acquired");
  }

  // --- WAIT-03 to WAIT-06 ---

  @Rule("WAIT-03")
  void aReleaseWakesAWaiterOfTheSameClientAndOfAnother() throws Exception {
    String name = newName();
    LockClient client = client();
    for (LockClient waiting : List.of(client, client())) {
      Lease blocker = acquireNow(client.lock(name));
      Waiter<Lease> waiter = new Waiter<>(() -> waiting.lock(name).acquire());
      eventually(waiter::isBlocked, "the thread of a waiter did not block");
      assertNever(SHORT_WAIT, waiter.outcome, "a held lock was acquired");
      blocker.release();
      within(waiter.outcome, "the waiter did not get the lock after the release")
          .orElseThrow()
          .release();
    }
  }

  @Rule("WAIT-04")
  void aKilledProcessLosesItsLocks() throws Exception {
    String name = newName();
    OtherProcess holder = process(renewed());
    Duration ttl = acquireIn(holder, Kind.LOCK, name);
    int others = Integer.parseInt(holder.call(bound().multipliedBy(2), AcquireMany.class, name));
    LockClient client = client();
    List<CompletableFuture<Lease>> waiters = new ArrayList<>();
    waiters.add(client.lock(name).acquireAsync());
    for (int other = 0; other < others; other += 1 + others / 20) {
      waiters.add(client.lock(AcquireMany.name(name, other)).acquireAsync());
    }
    CompletableFuture<?> first = CompletableFuture.anyOf(waiters.toArray(CompletableFuture[]::new));
    if (poll(SHORT_WAIT, Duration.ofMillis(20), first::isDone)) {
      throw new LateError("a process did not renew all of its leases in time");
    }
    holder.kill();
    within(
        ttl.plus(bound()),
        CompletableFuture.allOf(waiters.toArray(CompletableFuture[]::new)),
        "the waiters did not get all of the killed process's " + (others + 1) + " locks");
    waiters.forEach(waiter -> waiter.join().release());
  }

  /** Acquires as many locks as it can in two seconds, at most 2,000, and returns their number. */
  static final class AcquireMany implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      long start = System.nanoTime();
      int count = 0;
      for (; count < 2_000 && since(start).compareTo(Duration.ofSeconds(2)) < 0; count++) {
        String name = name(arguments.get(0), count);
        worker.keep(name, worker.client().lock(name).acquire());
      }
      return Integer.toString(count);
    }

    static String name(String prefix, int number) {
      return prefix + "-" + number;
    }
  }

  @Rule("WAIT-05")
  void anUnrenewedLeaseExpiresWhileOthersKeepTrying() throws Exception {
    String name = newName();
    DistributedLock lock = client().lock(name);
    DistributedLock impatient = client(unrenewed()).lock(name);
    Lease unrenewed = acquireNow(client(unrenewed()).lock(name));
    Future<Lease> waiter = inThread(lock::acquire);
    AtomicBoolean served = new AtomicBoolean();
    Future<?> asking =
        doInThread(
            () -> {
              while (!served.get()) {
                answer(impatient::tryAcquire).ifPresent(Lease::release);
                sleep(Duration.ofMillis(20));
              }
            });
    Lease lease =
        within(
            maxLifetime(unrenewed),
            waiter,
            "the waiter did not get the lock after the TTL of a lease that nobody renewed");
    assertFalse(unrenewed.isHeld(), "the lock was acquired while the former lease was valid");
    served.set(true);
    within(asking, "an attempt without a time-out did not end");
    lease.release();
  }

  @Rule("WAIT-06")
  void aWaiterWhoseConnectionWasResetIsServed() throws Exception {
    Lease blocker = acquireNow(client().lock(newName()));
    Network network = network();
    Future<Lease> waiter = waitBehind(blocker, client(network, longLived()));
    assumeTestable(network.reset() > 0, "the waiter has no connection through the proxy");
    blocker.release();
    within(waiter, "a waiter whose connection was reset did not get the lock").release();
  }

  @Rule("WAIT-06")
  void aWaiterWhoseConnectionFellSilentIsServed() throws Exception {
    Lease blocker = acquireNow(client().lock(newName()));
    Network network = network();
    LockClient waiting = client(network, renewed());
    Future<Lease> waiter = waitBehind(blocker, waiting);
    try (Disturbance silence = network.everywhere(FaultProxy::silenceOpenConnections)) {
      blocker.release();
      assumeTestable(silence.awaitHit(bound()), "nothing was dropped on the waiter's connections");
      within(
              sessionTtl(waiting).plus(bound()),
              waiter,
              "a waiter whose connection fell silent did not get the lock")
          .release();
    }
  }

  private Future<Lease> waitBehind(Lease blocker, LockClient client) throws Exception {
    Future<Lease> waiter = inThread(client.lock(blocker.name())::acquire);
    awaitQueued(client(), blocker.name(), 1);
    assertNever(SHORT_WAIT, waiter, "a held lock was acquired");
    return waiter;
  }

  /** {@return how long the store may keep the session of a client that is cut off} */
  private Duration sessionTtl(LockClient client) {
    Duration ttl = client.backend().minTtl();
    return renewed().ttl().compareTo(ttl) > 0 ? renewed().ttl() : ttl;
  }

  // --- WAIT-07, WAIT-08 ---

  @Rule("WAIT-07")
  void anInterruptedWaiterStopsAtOnceAndNeverAcquires() throws Exception {
    String name = newName();
    Lease blocker = acquireNow(client().lock(name));
    LockClient waiting = client();
    DistributedLock lock = waiting.lock(name);
    for (Waiter<Lease> waiter :
        List.of(
            new Waiter<>(lock::acquire),
            new Waiter<>(() -> lock.tryAcquire(timing().longTtl()).orElseThrow()))) {
      assertNever(SHORT_WAIT, waiter.outcome, "a held lock was acquired");
      waiter.interrupt();
      assertEquals(
          Optional.empty(),
          within(waiter.outcome, "the interrupted waiter did not leave"),
          "the lease of an interrupted waiter");
    }
    Waiter<Lease> first = new Waiter<>(lock::acquire);
    assertNever(SHORT_WAIT, first.outcome, "a held lock was acquired");
    Waiter<Lease> second = new Waiter<>(lock::acquire);
    assertNever(SHORT_WAIT, second.outcome, "a held lock was acquired");
    first.interrupt();
    var unused = within(first.outcome, "the interrupted waiter did not leave");
    blocker.release();
    within(second.outcome, "a waiter was not served after another of its client was interrupted")
        .orElseThrow()
        .release();
    assertFree(client().lock(name), "an interrupted waiter became the holder");
  }

  @Rule("WAIT-07")
  void anInterruptBeforeTheCallEndsTheWait() throws Exception {
    DistributedLock lock = client().lock(newName());
    Future<Boolean> thread =
        inThread(
            () -> {
              Thread.currentThread().interrupt();
              assertThrows(InterruptedException.class, lock::acquire);
              Thread.currentThread().interrupt();
              assertThrows(InterruptedException.class, () -> lock.tryAcquire(bound()));
              return Thread.interrupted();
            });
    assertFalse(
        within(thread, "interrupted calls did not return"),
        "InterruptedException was thrown without clearing the interrupt status");
    assertFree(lock, "an interrupted attempt got the lock");
  }

  @Rule("WAIT-07")
  void anInterruptDuringAHandoffLosesNothing() throws Exception {
    String name = newName();
    LockClient holding = client();
    LockClient waiting = client();
    for (int i = 0; i < 30; i++) {
      // the queue entry of an interrupted attempt may remain for a moment
      Lease blocker = acquireWithin(holding.lock(name), "an interrupted waiter became the holder");
      Waiter<Lease> waiter = new Waiter<>(waiting.lock(name)::acquire);
      if (i % 2 == 0) {
        blocker.release();
        waiter.interrupt();
      } else {
        waiter.interrupt();
        blocker.release();
      }
      within(waiter.outcome, "an interrupted waiter neither acquired the lock nor returned")
          .ifPresent(Lease::release);
      assertFree(holding.lock(name), "an interrupted waiter became the holder");
    }
  }

  @Rule("WAIT-07")
  void anInterruptHarmsNoOtherThread() throws Exception {
    LockClient client = client();
    String busy = newName();
    Lease blocker = acquireNow(client().lock(busy));
    AtomicBoolean stop = new AtomicBoolean();
    AtomicLong done = new AtomicLong();
    List<Future<?>> workers = new ArrayList<>();
    for (int t = 0; t < 3; t++) {
      workers.add(
          doInThread(
              () -> {
                DistributedLock own = client.lock(newName());
                ReleaseOutcome last = ReleaseOutcome.RELEASED;
                while (!stop.get()) {
                  last = acquireAfter(last, own).release();
                  done.incrementAndGet();
                }
              }));
    }
    long before = done.get();
    for (int i = 0; i < 40; i++) {
      Waiter<Lease> victim = new Waiter<>(client.lock(i % 2 == 0 ? busy : newName())::acquire);
      victim.interrupt();
      within(victim.outcome, "the interrupted thread did not return").ifPresent(Lease::release);
    }
    eventually(() -> done.get() > before, "threads that were not interrupted are stuck");
    stop.set(true);
    allWithin(bound(), workers, "a thread that was not interrupted is stuck");
    blocker.release();
  }

  @Rule("WAIT-08")
  void acquisitionsThatWereCancelledOrTimedOutNeverBecomeTheHolder() throws Exception {
    String name = newName();
    Lease blocker = acquireNow(client().lock(name));
    LockClient waiting = client();
    List<CompletableFuture<?>> cancelled = new ArrayList<>();
    List<Future<Optional<Lease>>> timedOut = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      cancelled.add(waiting.lock(name).acquireAsync());
      cancelled.add(waiting.lock(name).tryAcquireAsync(timing().longTtl()));
      timedOut.add(waiting.lock(name).tryAcquireAsync(SHORT_WAIT));
    }
    for (Future<Optional<Lease>> future : timedOut) {
      assertNotAcquired(future, SHORT_WAIT);
    }
    cancelled.forEach(
        future ->
            assertTrue(future.cancel(true), "an acquisition had ended while the lock was held"));
    blocker.release();
    assertFree(client().lock(name), "a cancelled acquisition became the holder");
    cancelled.forEach(
        future -> assertThrows(CancellationException.class, future::join, "cancelled"));
  }

  @Rule("WAIT-08")
  void aCancellationDuringAHandoffLosesNothing() throws Exception {
    String name = newName();
    LockClient holding = client();
    LockClient waiting = client();
    for (int i = 0; i < 30; i++) {
      // the clean-up of the last cancellation may still be in flight
      Lease blocker =
          acquireWithin(holding.lock(name), "a cancelled acquisition still holds the lock");
      CompletableFuture<Lease> waiter = waiting.lock(name).acquireAsync();
      if (i % 2 == 0) {
        blocker.release();
        if (!waiter.cancel(true)) {
          waiter.join().release();
        }
      } else {
        waiter.cancel(true);
        blocker.release();
      }
      assertFree(holding.lock(name), "a cancelled acquisition became the holder");
    }
  }

  // --- WAIT-09, WAIT-10 ---

  @Rule("WAIT-09")
  void aHundredWaitersAreAllServed() throws Exception {
    String name = newName();
    int clients = 5;
    int waiters = 100;
    List<LockClient> opened = new ArrayList<>();
    for (int c = 0; c < clients; c++) {
      opened.add(client());
    }
    Semaphore served = new Semaphore(0);
    AtomicInteger inside = new AtomicInteger();
    Lease blocker = acquireNow(opened.get(0).lock(name));
    for (int i = 0; i < waiters; i++) {
      var unused =
          opened
              .get(i % clients)
              .lock(name)
              .acquireAsync()
              .thenAccept(
                  lease -> {
                    if (inside.incrementAndGet() == 1) {
                      served.release();
                    }
                    inside.decrementAndGet();
                    lease.release();
                  });
    }
    blocker.release();
    // Limits each grant, not their sum, so that a slow store may serve them slowly.
    Duration limit = bound().multipliedBy(2);
    for (int remaining = waiters; remaining > 0; remaining--) {
      String unserved = remaining + " of " + waiters + " waiters were not served: none acquired it";
      eventually(limit, served::tryAcquire, unserved);
    }
  }

  @Rule("WAIT-10")
  @Requires(Capability.SINGLE_WAKEUP)
  void theCostOfAReleaseDoesNotGrowWithTheWaiters() throws Exception {
    assertNoHerd(Kind.LOCK, Kind.LOCK);
  }

  @Rule("WAIT-10")
  @Requires(Capability.SINGLE_WAKEUP)
  void theCostOfAReadersReleaseDoesNotGrowWithTheWritersThatWait() throws Exception {
    require(Capability.READ_WRITE);
    assertNoHerd(Kind.READER, Kind.WRITER);
  }

  /** The requests of waiting clients because of one release, and how long they were counted. */
  private record Requests(long count, Duration time) {}

  private void assertNoHerd(AcquirableFactory holder, AcquirableFactory waiter) throws Exception {
    Requests ofThree = requestsOfWaiters(3, holder, waiter);
    Requests ofFifteen = requestsOfWaiters(15, holder, waiter);
    for (int retry = 0; retry < 2 && ofFifteen.count > ofThree.count + 6; retry++) {
      // A driver may send a heartbeat by chance; a herd wakes every time.
      ofFifteen = requestsOfWaiters(15, holder, waiter);
    }
    if (ofFifteen.count > ofThree.count + 6) {
      String message =
          "a release made 3 waiting clients send %d requests, and 15 waiting clients %d: all of them are woken"
              .formatted(ofThree.count, ofFifteen.count);
      if (ofFifteen.time.compareTo(bound().multipliedBy(2)) > 0) { // enough for heartbeats
        throw new LateError(message);
      }
      fail(message);
    }
  }

  private Requests requestsOfWaiters(int count, AcquirableFactory holder, AcquirableFactory waiter)
      throws Exception {
    String name = newName();
    Lease blocker = acquireNow(holder.of(client(), name));
    List<Network> networks = networks(count);
    List<CompletableFuture<Lease>> waiters = new ArrayList<>();
    for (Network network : networks) {
      waiters.add(waiter.of(client(network, quiet()), name).acquireAsync());
    }
    awaitQueued(client(), name, count);
    awaitQuiet(networks);
    long start = System.nanoTime();
    long before = requests(networks);
    blocker.release();
    CompletableFuture<Object> first =
        CompletableFuture.anyOf(waiters.toArray(CompletableFuture[]::new));
    Lease lease = (Lease) within(first, "no waiter got the lock after the release");
    awaitQuiet(networks);
    Requests sent = new Requests(requests(networks) - before, since(start));
    waiters.forEach(future -> future.cancel(true));
    lease.release();
    return sent;
  }

  private LockOptions quiet() {
    return longLived().toBuilder().pollInterval(timing().longTtl()).build();
  }

  private static long requests(List<Network> networks) {
    return networks.stream().mapToLong(network -> network.traffic().toServer().chunks()).sum();
  }

  /** Waits until the clients have stopped sending, even those that are woken a little later. */
  private void awaitQuiet(List<Network> networks) {
    AtomicLong seen = new AtomicLong(-1);
    assumeTestable(
        poll(
            bound().multipliedBy(3),
            Duration.ofSeconds(1),
            () -> {
              long now = requests(networks);
              return seen.getAndSet(now) == now;
            }),
        "the waiting clients never stop sending");
  }

  @Rule("WAIT-10")
  @Requires(value = Capability.SINGLE_WAKEUP, absent = true)
  void waitersDoNotPollAndAllAreServed() throws Exception {
    Lease blocker = acquireNow(client().lock(newName()));
    assertQuietAndServed(
        blocker, networks(cannotHappen(Fault.PARTITION) ? 0 : WAITERS), network -> {});
  }

  @Rule("WAIT-10")
  void waitersDoNotPollWhenTheHolderLacksSomeNodes() throws Exception {
    Network holders = network();
    requireSeveral(holders);
    loseMinority(holders);
    Lease blocker =
        acquireWithin(
            client(holders, longLived()).lock(newName()),
            "no lock was acquired with a minority of the nodes out of reach");
    assertQuietAndServed(blocker, networks(WAITERS), network -> {});
  }

  @Rule("WAIT-10")
  void waitersDoNotPollWithAMinorityOutOfReach() throws Exception {
    requireSeveral(network());
    Lease blocker = acquireNow(client().lock(newName()));
    assertQuietAndServed(blocker, networks(WAITERS), LivenessRules::loseMinority);
  }

  private List<Network> networks(int count) throws Exception {
    List<Network> networks = new ArrayList<>();
    while (networks.size() < count) {
      networks.add(network());
    }
    return networks;
  }

  /**
   * Makes one client wait behind each network, in which the event then happens, and further clients
   * without proxies. Checks that they send nothing until they are served.
   */
  private void assertQuietAndServed(Lease blocker, List<Network> networks, Consumer<Network> event)
      throws Exception {
    List<CompletableFuture<Lease>> waiters = new ArrayList<>();
    for (Network network : networks) {
      LockClient waiting = client(network, longLived());
      event.accept(network);
      waiters.add(waiting.lock(blocker.name()).acquireAsync());
    }
    while (waiters.size() < WAITERS) {
      waiters.add(client().lock(blocker.name()).acquireAsync());
    }
    assertQuiet(networks);
    blocker.release();
    allWithin(
        bound(),
        waiters.stream().map(waiter -> waiter.thenCompose(Lease::releaseAsync)).toList(),
        "a waiter was not served");
  }

  private static void requireSeveral(Network network) {
    assumeApplicable(network.proxies().size() >= 3, "the URI has fewer than three addresses");
  }

  private static void loseMinority(Network network) {
    List<FaultProxy> proxies = network.proxies();
    proxies.subList(0, (proxies.size() - 1) / 2).forEach(FaultProxy::cut);
  }

  /** Checks that between polls waiting clients send only the heartbeats of their sessions. */
  private void assertQuiet(List<Network> networks) throws InterruptedException {
    sleep(Duration.ofSeconds(1)); // time to connect and to enter the queue
    int paths = networks.stream().mapToInt(network -> network.proxies().size()).sum();
    for (int retry = 0; ; retry++) {
      long start = System.nanoTime();
      long before = requests(networks);
      sleep(Duration.ofSeconds(2));
      long sent = requests(networks) - before;
      Duration watched = Duration.ofNanos(System.nanoTime() - start);
      long pollIntervals = 1 + watched.toMillis() / longLived().pollInterval().toMillis();
      if (sent <= 4L * paths * (pollIntervals + 1)) {
        return;
      }
      // A slow client may still be starting its wait; a client that polls goes on sending.
      if (retry == 2) {
        throw new LateError(
            "%d waiting clients sent %d requests in %s while the lock was held"
                .formatted(WAITERS, sent, text(watched)));
      }
    }
  }
}
