package dev.interlock.tck.rules;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.Acquirable;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.StoreView.Entry;
import dev.interlock.tck.Timing;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisErrors;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.ProcessSignals;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.run.Kit;
import dev.interlock.tck.run.LateError;
import dev.interlock.tck.run.NotApplicableException;
import dev.interlock.tck.run.NotOfferedException;
import dev.interlock.tck.run.NotTestedException;
import dev.interlock.tck.run.Pulse;
import dev.interlock.tck.run.RepeatedFailure;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.RuleTests;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.opentest4j.AssertionFailedError;

/**
 * Base of the rules' tests: provides clients, networks, processes and threads that end with the
 * test, and methods that wait.
 *
 * <p>Every test uses new lock names, so that all tests can run at once on one server.
 */
@Execution(ExecutionMode.CONCURRENT)
@DisplayNameGeneration(RuleNames.class)
@Timeout(value = 5, unit = TimeUnit.MINUTES)
public abstract class RuleTest {

  /** Time for another JVM to load and compile a driver, even on a busy machine. */
  static final Duration OTHER_JVM_TIMEOUT = Duration.ofMinutes(2);

  /** The resource of tests that count the store's entries, and of those that make very many. */
  static final String STORE_ENTRIES = "entries on the store";

  /** The resource of tests that open ten clients or more, of which one runs at a time. */
  static final String MANY_CLIENTS = "many clients";

  /** Time for a waiter to enter the queue, or to poll again. */
  static final Duration SHORT_WAIT = Duration.ofMillis(200);

  private static final Set<Thread.State> BLOCKED =
      Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

  private static final Duration RETRY_PAUSE = Duration.ofMillis(20);

  private @Nullable Kit kit;
  private final Deque<AutoCloseable> resources = new ArrayDeque<>();
  private final List<Network> networks = new CopyOnWriteArrayList<>();
  private final List<Thread> threads = new CopyOnWriteArrayList<>();

  /** Sets the kit of this run. {@link dev.interlock.tck.LockTck} calls this before each test. */
  public final void setKit(Kit kit) {
    this.kit = kit;
  }

  @BeforeEach
  void checkRequirement(TestInfo test) {
    Requires requires =
        RuleTests.requirementOf(
            test.getTestClass().orElseThrow(), test.getTestMethod().orElseThrow());
    if (requires != null && info().has(requires.value()) == requires.absent()) {
      throw new NotApplicableException(
          info().name()
              + (requires.absent() ? " declares " : " does not declare ")
              + requires.value());
    }
  }

  @AfterEach
  void endEverything() throws Exception {
    networks.forEach(Network::heal); // so that clients can close their sessions
    threads.forEach(Thread::interrupt);
    Throwable failure = null;
    while (!resources.isEmpty()) {
      try {
        resources.pop().close();
      } catch (Exception e) {
        failure = e;
      }
    }
    for (Thread thread : threads) {
      Pulse.Limit end = Pulse.ofThisJvm().limit(bound());
      while (thread.isAlive() && !end.isOver()) {
        thread.join(SHORT_WAIT.toMillis());
      }
      if (thread.isAlive()) {
        AssertionError stuck =
            new AssertionError(thread.getName() + " is still blocked after the test");
        stuck.setStackTrace(thread.getStackTrace());
        throw stuck;
      }
    }
    if (failure != null) {
      throw new IllegalStateException("cleaning up after the test failed: " + failure, failure);
    }
  }

  // --- the backend under test ---

  final Kit kit() {
    return requireNonNull(kit);
  }

  final BackendInfo info() {
    return kit().info();
  }

  final Timing timing() {
    return kit().timing();
  }

  final Duration bound() {
    return timing().bound();
  }

  final boolean has(Capability capability) {
    return info().has(capability);
  }

  static void assumeTestable(boolean condition, String reason) {
    if (!condition) {
      throw new NotTestedException(reason);
    }
  }

  static void assumeApplicable(boolean condition, String reason) {
    if (!condition) {
      throw new NotApplicableException(reason);
    }
  }

  final void require(Capability capability) {
    assumeApplicable(has(capability), info().name() + " does not declare " + capability);
  }

  /** {@return an exclusive lock, and one share of each other kind of lock that there is} */
  final List<Kind> kinds() {
    List<Kind> kinds = new ArrayList<>(List.of(Kind.LOCK));
    if (has(Capability.READ_WRITE)) {
      kinds.add(Kind.READER);
    }
    if (has(Capability.SEMAPHORE)) {
      kinds.add(Kind.ONE_PERMIT);
    }
    return kinds;
  }

  static void requireSignals() {
    assumeTestable(ProcessSignals.supported(), "processes can be stopped on Linux only");
  }

  final boolean cannotHappen(Fault fault) {
    return info().failureModel().under(fault) == Guarantee.NOT_APPLICABLE;
  }

  final String newName() {
    return kit().newName();
  }

  // --- options ---

  /** {@return options for leases whose TTL is longer than any test} */
  final LockOptions longLived() {
    return options(timing().longTtl(), true);
  }

  /** {@return options for leases with a short TTL and without renewal} */
  final LockOptions unrenewed() {
    return options(timing().ttl(), false);
  }

  /** {@return options for leases with a short TTL and with renewal} */
  final LockOptions renewed() {
    return options(timing().renewedTtl(), true);
  }

  /** {@return a change of one lock's options: this TTL, with renewal} */
  static Consumer<LockOptions.Builder> renewed(Duration ttl) {
    return options -> options.ttl(ttl).autoRenew(true);
  }

  final LockOptions options(Duration ttl, boolean autoRenew) {
    return LockOptions.builder()
        .ttl(ttl)
        .autoRenew(autoRenew)
        .requestTimeout(timing().requestTimeout())
        .build();
  }

  // --- clients, networks, servers, processes ---

  final LockClient client() {
    return client(longLived());
  }

  final LockClient client(LockOptions options) {
    return client(kit().server().uri(), options);
  }

  final LockClient client(LockOptions options, TimeSource time) {
    return closing(kit().open(kit().server().uri(), options, time));
  }

  final LockClient client(Network network, LockOptions options) {
    return client(network.uri(), options);
  }

  final LockClient client(String uri, LockOptions options) {
    return closing(kit().open(uri, options));
  }

  /** {@return the backend of a client of the shared server, without its engine} */
  final DirectBackend directBackend() {
    return new DirectBackend(this, kit().server().uri());
  }

  /** {@return a client whose store no longer answers, if it reaches the store over a network} */
  final LockClient clientOfASilentStore() throws Exception {
    if (cannotHappen(Fault.PARTITION)) {
      return client();
    }
    Network network = network();
    LockClient client = client(network, longLived());
    network.partition();
    return client;
  }

  final LockClient labelled(String holder) {
    return client(longLived().toBuilder().label(holder).build());
  }

  final LeaseRecorder recorder(String process, Collection<Event> history) {
    return new LeaseRecorder(process, has(Capability.FENCING), history::add);
  }

  /** Closes the resource after the test; the last resource is closed first. */
  final <T extends AutoCloseable> T closing(T resource) {
    synchronized (resources) {
      resources.push(resource);
    }
    return resource;
  }

  /** {@return new proxies in front of the shared server} */
  final Network network() throws Exception {
    return network(kit().server());
  }

  final Network network(Server server) throws Exception {
    assumeApplicable(!cannotHappen(Fault.PARTITION), info().name() + " has no network");
    Network network = requireProxies(kit().network(server.uri()));
    networks.add(network);
    return network;
  }

  /** Checks that clients cannot bypass the proxies. */
  private <T extends AutoCloseable> T requireProxies(Optional<T> proxies) throws Exception {
    assumeTestable(proxies.isPresent(), "the URI has no host and port for a proxy");
    closing(proxies.get());
    assumeTestable(
        kit().staysBehindProxies(),
        "the servers direct clients to their own addresses, past the kit's proxies");
    return proxies.get();
  }

  /** {@return proxies in front of the shared server that can refuse Redis commands} */
  final RedisErrors redisErrors() throws Exception {
    assumeApplicable(!cannotHappen(Fault.PARTITION), info().name() + " has no network");
    RedisErrors proxies = requireProxies(kit().redisErrors(kit().server().uri()));
    acquireNow(client(proxies.uri(), longLived()).lock(newName())).release();
    assumeTestable(!proxies.encrypted(), "the kit's proxies cannot answer encrypted requests");
    assumeApplicable(proxies.speaksRedis(), info().name() + " does not speak the Redis protocol");
    return proxies;
  }

  /** {@return a server that no other test uses} */
  final Server ownServer() throws Exception {
    assumeApplicable(!cannotHappen(Fault.SERVER_STOPPED), info().name() + " has no server process");
    assumeTestable(
        kit().harness().startsServers(), "the harness starts no servers that the kit may stop");
    return closing(kit().harness().start());
  }

  /** {@return a server that no other test uses and whose processes the kit may stop} */
  final Server ownServerWithNodes() throws Exception {
    Server server = ownServer();
    assumeTestable(!server.nodes().isEmpty(), "the harness cannot stop and kill its servers");
    return server;
  }

  final OtherProcess process(LockOptions options) throws Exception {
    requireOtherProcesses();
    return separateProcess(options);
  }

  /** Makes another process acquire a name and keep the lease, and returns its effective TTL. */
  final Duration acquireIn(OtherProcess process, Kind kind, String name) throws Exception {
    return Duration.parse(
        process.call(bound().multipliedBy(2), Kind.Acquire.class, name, kind.name()));
  }

  final void requireOtherProcesses() {
    assumeApplicable(
        !cannotHappen(Fault.CLIENT_KILLED), info().name() + " lives within one process");
  }

  /** Loads the classes that a client needs, so that no test measures class loading. */
  static final class WarmUp implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      // The first call opens the client, which loads and connects it.
      answer(
              OTHER_JVM_TIMEOUT.dividedBy(2),
              () -> worker.client().lock(arguments.get(0)).tryAcquire())
          .ifPresent(Lease::release);
      return "";
    }
  }

  /** Like {@link #process}, but also for backends that share nothing between processes. */
  final OtherProcess separateProcess(LockOptions options) throws Exception {
    OtherProcess process = anyProcess(kit().server().uri(), options, false);
    process.call(OTHER_JVM_TIMEOUT, WarmUp.class, newName());
    return process;
  }

  final OtherProcess anyProcess(
      String uri, LockOptions options, boolean trace, String... jvmArguments) throws Exception {
    return closing(OtherProcess.start(settings(uri, options, trace, jvmArguments)));
  }

  /** {@return a process whose JDK, locale, time zone and default charset are different} */
  final OtherProcess foreignProcess(LockOptions options) throws Exception {
    requireOtherProcesses();
    return closing(OtherProcess.startForeign(settings(kit().server().uri(), options, false)));
  }

  private OtherProcess.Settings settings(
      String uri, LockOptions options, boolean trace, String... jvmArguments) {
    assumeTestable(
        OtherProcess.canMake(kit().harness()),
        "other processes cannot create the harness: it must be a class with a constructor without"
            + " parameters");
    return new OtherProcess.Settings(kit().harness(), uri, options, List.of(jvmArguments), trace);
  }

  // --- threads ---

  /** Runs work on a thread that is interrupted when the test ends. */
  final <T> Future<T> inThread(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    start(task);
    return task;
  }

  interface Work {
    void run() throws Exception;
  }

  /** An action on a target, which may throw. */
  interface Action<T> {
    void on(T target) throws Exception;
  }

  /** Runs work without a result on a thread that is interrupted when the test ends. */
  final Future<?> doInThread(Work work) {
    return inThread(
        () -> {
          work.run();
          return true;
        });
  }

  /** A thread that waits, and that a test can interrupt. */
  final class Waiter<T> {
    private final CompletableFuture<Thread> self = new CompletableFuture<>();

    /** The result of the wait; empty if the thread was interrupted. */
    final Future<Optional<T>> outcome;

    Waiter(Callable<T> wait) {
      outcome =
          inThread(
              () -> {
                self.complete(Thread.currentThread());
                try {
                  return Optional.of(wait.call());
                } catch (InterruptedException e) {
                  return Optional.empty();
                }
              });
    }

    void interrupt() throws Exception {
      within(self, "the thread did not start").interrupt();
    }

    boolean isBlocked() {
      return self.isDone() && BLOCKED.contains(self.join().getState());
    }
  }

  final Thread start(Runnable work) {
    Thread thread = new Thread(work, "tck-test-" + threads.size());
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
    return thread;
  }

  /** Threads that acquire and release without a pause until they are stopped. */
  final class BusyThreads {
    final AtomicInteger grants = new AtomicInteger();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final List<Future<?>> threads = new ArrayList<>();
    private volatile Work whileHeld;

    BusyThreads(Work whileHeld) {
      this.whileHeld = whileHeld;
    }

    void start(Acquirable<Lease> lock, int count) {
      for (int i = 0; i < count; i++) {
        threads.add(
            doInThread(
                () -> {
                  while (!stopped.get()) {
                    try (Lease lease = lock.acquire()) {
                      grants.incrementAndGet();
                      whileHeld.run();
                      assertTrue(lease.remainingValidity().toNanos() >= 0);
                    }
                  }
                }));
      }
    }

    void awaitGrants(int count) {
      eventually(
          timing().longTtl(),
          () -> grants.get() >= count,
          "threads that acquire and release got fewer than " + count + " grants");
    }

    /** Makes the next holder keep its lock until the returned latch is opened. */
    CountDownLatch hold() {
      CountDownLatch reached = new CountDownLatch(1);
      CountDownLatch resume = new CountDownLatch(1);
      whileHeld =
          () -> {
            reached.countDown();
            resume.await();
          };
      eventually(
          timing().longTtl(),
          () -> reached.getCount() == 0,
          "threads that acquire and release got no further grant");
      return resume;
    }

    void stop() throws Exception {
      stopped.set(true);
      allWithin(timing().longTtl(), threads, "a thread that acquires and releases did not end");
    }
  }

  // --- waiting ---

  /** {@return the result of a future, which must complete within the limit} */
  final <T> T within(Duration limit, Future<T> future, String message) throws Exception {
    Pulse.Limit end = Pulse.ofThisJvm().limit(limit);
    try {
      while (true) {
        try {
          return future.get(end.remaining().toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
          if (end.isOver()) {
            return fail(message + " within " + text(limit));
          }
        }
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  /** {@return the result of a future, which must complete within the bound} */
  final <T> T within(Future<T> future, String message) throws Exception {
    return within(bound(), future, message);
  }

  /** Waits for each future in turn, for at most the limit. */
  final void allWithin(Duration limit, Iterable<? extends Future<?>> futures, String message)
      throws Exception {
    for (Future<?> future : futures) {
      within(limit, future, message);
    }
  }

  /** Waits without throwing, as a callback does. */
  static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A check that a stall of the machine or of the store may disturb. */
  interface FragileCheck {
    boolean succeeds(boolean isLast) throws Exception;
  }

  /** {@return whether one of three tries succeeded} */
  static boolean anyOfThree(FragileCheck check) throws Exception {
    for (int tries = 1; tries <= 3; tries++) {
      if (check.succeeds(tries == 3)) {
        return true;
      }
    }
    return false;
  }

  /** Polls until the condition holds; fails after the bound. */
  final void eventually(BooleanSupplier condition, String message) {
    eventually(bound(), condition, message);
  }

  /** Polls until the condition holds; fails after the limit. */
  final void eventually(Duration limit, BooleanSupplier condition, String message) {
    assertTrue(
        poll(limit, Duration.ofMillis(2), condition::getAsBoolean),
        () -> message + " within " + text(limit));
  }

  /** Polls until the condition holds or the limit has passed, and returns whether it holds. */
  static <E extends Exception> boolean poll(
      Duration limit, Duration pause, Question<Boolean, E> condition) throws E {
    return retry(
        limit, pause, () -> condition.ask() ? Optional.of(true) : Optional.empty(), () -> false);
  }

  /** Checks that a call fails in time because the store is out of reach. */
  final void assertFailsInTime(Executable call, String what) {
    Pulse.Limit end = Pulse.ofThisJvm().limit(bound());
    long start = System.nanoTime();
    assertThrows(LockUnavailableException.class, call, what);
    assertFalse(end.isOver(), () -> what + " took " + text(since(start)) + " to fail");
  }

  /** A query of the store. */
  interface Question<T, E extends Exception> {
    T ask() throws E;
  }

  /** {@return the store's answer; the query is repeated while the store is too busy to answer} */
  final <T, E extends Exception> T answer(Question<T, E> question) throws E {
    return answer(bound(), question);
  }

  static <T, E extends Exception> T answer(Duration limit, Question<T, E> question) throws E {
    return retry(
        limit,
        RETRY_PAUSE,
        () -> Optional.of(question.ask()),
        () -> fail("the store gave no answer"));
  }

  /** {@return the result of a call; empty if it threw an exception of the given class} */
  static <T> Optional<T> emptyOn(Class<? extends LockException> failure, Callable<T> call)
      throws Exception {
    try {
      return Optional.of(call.call());
    } catch (LockException e) {
      if (failure.isInstance(e)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /**
   * Repeats a question until it has an answer. An unavailable store counts as no answer, but the
   * exception of the last attempt is thrown. The last attempt begins after the limit, so a slow
   * attempt cannot fail the test too early.
   */
  private static <T, E extends Exception> T retry(
      Duration limit, Duration pause, Question<Optional<T>, E> question, Supplier<T> fallback)
      throws E {
    Pulse.Limit end = Pulse.ofThisJvm().limit(limit);
    for (int failures = 1; ; ) {
      boolean last = end.isOver();
      try {
        Optional<T> answer = question.ask();
        if (answer.isPresent() || last) {
          return answer.orElseGet(fallback);
        }
      } catch (LockUnavailableException e) {
        if (last) {
          RepeatedFailure.mark(e, failures);
          throw e;
        }
        failures++;
      }
      LockSupport.parkNanos(pause.toNanos());
    }
  }

  /** Fails if the future completes within the duration. */
  final void assertNever(Duration duration, Future<?> event, String message) throws Exception {
    try {
      Object happened = event.get(duration.toMillis(), TimeUnit.MILLISECONDS);
      fail(message + ": " + happened);
    } catch (TimeoutException e) {
      // as expected
    }
  }

  /** Waits where there is no event to wait for. */
  static void sleep(Duration duration) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(duration.toNanos());
  }

  /** Waits until the validity of a lease has ended. */
  final void awaitExpiry(Lease lease) {
    eventually(maxLifetime(lease), () -> !lease.isHeld(), "the lease did not end");
  }

  /** Waits until the queue has at least that many waiters, if the store keeps a queue. */
  final void awaitQueued(LockClient observer, String name, int count) {
    if (has(Capability.FIFO)) {
      eventually(
          bound().multipliedBy(2),
          () -> observer.admin().inspect(name).waiters().size() >= count,
          "a waiter is not shown in the queue");
    }
  }

  // --- entries on the store ---

  static StoreView view(Server server) {
    return server
        .view()
        .orElseThrow(
            () -> new NotTestedException("the harness has no view of the store's contents"));
  }

  /** Waits until no holder or waiter of the name has an entry, long before one would expire. */
  final void awaitNoResidue(StoreView view, String name, String message) {
    Question<List<Entry>, RuntimeException> residue =
        () ->
            entries(view).stream()
                .filter(entry -> entry.kind() != StoreView.Kind.FENCE)
                .filter(entry -> entry.description().contains(name))
                .toList();
    assertTrue(
        poll(bound().multipliedBy(2), RETRY_PAUSE, () -> residue.ask().isEmpty()),
        () -> message + ": " + residue.ask());
  }

  static List<Entry> entries(StoreView view) {
    try {
      return view.entries();
    } catch (Exception e) {
      throw new NotTestedException("the store's own view failed: " + e);
    }
  }

  // --- views ---

  /** Checks that two views of one lock count their holds together. */
  @SuppressWarnings("LockNotBeforeTry") // each step is checked
  final void testReentrancy(Lock one, Lock two, Acquirable<Lease> whole) throws Exception {
    one.lock();
    assertTrue(two.tryLock(), "a nested tryLock through another view failed");
    two.lockInterruptibly();
    assertTrue(one.tryLock(1, TimeUnit.SECONDS), "a nested timed tryLock failed");
    for (int holds = 4; holds > 0; holds--) {
      assertRefused(
          whole, "another client acquired the lock although " + holds + " unlocks were missing");
      one.unlock();
    }
    assertThrows(IllegalMonitorStateException.class, two::unlock);
    assertFree(whole, "another client could not acquire the lock after the last unlock");
  }

  /** {@return options for a lease that expires, but not before the first unlock of its view} */
  final LockOptions expiring() {
    return options(timing().renewedTtl(), false);
  }

  /** Checks that every call of a view reports a loss until the last unlock. */
  @SuppressWarnings("LockNotBeforeTry") // each step is checked
  final void testLossInView(Lock view, Acquirable<Lease> whole) throws Exception {
    Duration ttl = expiring().ttl();
    Future<?> checks =
        doInThread(
            () -> {
              long start = System.nanoTime();
              try {
                view.lock();
                view.lock();
                view.lock();
                view.unlock();
              } catch (LeaseLostException e) {
                if (since(start).compareTo(ttl) < 0) {
                  throw e;
                }
                throw new LateError("the view was not unlocked within the TTL of its lease");
              }
              // not renewed, so it is over when another client acquires the lock
              assertFree(
                  ttl.plus(bound()).plus(info().minTtl()), whole, "the lease did not expire");
              assertThrows(LeaseLostException.class, view::lock);
              assertThrows(LeaseLostException.class, view::tryLock);
              assertThrows(LeaseLostException.class, view::unlock);
              assertThrows(LeaseLostException.class, view::unlock);
              assertThrows(IllegalMonitorStateException.class, view::unlock);
              view.lock();
              view.unlock();
            });
    within(
        ttl.multipliedBy(2).plus(bound().multipliedBy(2)),
        checks,
        "the calls of a view whose lease was lost did not return");
  }

  // --- lost answers ---

  /**
   * Loses the answer to an attempt, and all answers to a wait, from its start or from its grant on.
   * The client can reach the store again soon.
   *
   * @param whole the share that is free only if nothing of the attempt or wait remains
   */
  final void testLostAnswer(AcquirableFactory way, AcquirableFactory whole) throws Exception {
    String name = newName();
    Network network = network();
    LockClient unlucky = client(network, longLived()); // so that no expiry frees the lock in time
    acquireNow(unlucky.lock(newName())).release();
    Future<Optional<Lease>> attempt;
    try (Disturbance lost = network.everywhere(proxy -> proxy.loseReplies(name))) {
      attempt = inThread(way.of(unlucky, name)::tryAcquire);
      assertAnswerLost(lost);
    } // resets the connection, so that the client may try again
    emptyOn(LockUnavailableException.class, () -> within(attempt, "the attempt did not end"))
        .ifPresent(lease -> lease.ifPresent(Lease::release));
    LockClient other = client();
    assertUndone(whole.of(other, name), "grant");
    within(unlucky.lock(newName()).acquireAsync(), "a free lock was not acquired").release();
    for (boolean fromStart : List.of(true, false)) {
      testLostWait(network, unlucky, way, other, whole, fromStart);
    }
  }

  private void testLostWait(
      Network network,
      LockClient unlucky,
      AcquirableFactory way,
      LockClient other,
      AcquirableFactory whole,
      boolean fromStart)
      throws Exception {
    String name = newName();
    Lease holder = acquireNow(whole.of(other, name));
    Supplier<Disturbance> fault = () -> network.everywhere(proxy -> proxy.loseReplies(name));
    Disturbance lost;
    CompletableFuture<Lease> waiter;
    if (fromStart) {
      lost = fault.get();
      waiter = way.of(unlucky, name).acquireAsync();
      assertAnswerLost(lost);
    } else {
      waiter = way.of(unlucky, name).acquireAsync();
      awaitQueued(other, name, 1);
      assertNever(SHORT_WAIT, waiter, "a held lock was acquired");
      lost = fault.get();
    }
    try (lost) {
      holder.release();
      boolean unused =
          lost.awaitHit(bound()); // some waiters learn of their grant without a request
      sleep(Duration.ofSeconds(1)); // the answers to repeated requests are lost, too
      if (!waiter.cancel(true) && !waiter.isCompletedExceptionally()) {
        waiter.join().release();
      }
    }
    assertUndone(whole.of(other, name), fromStart ? "place" : "grant to a waiter");
  }

  private void assertUndone(Acquirable<Lease> whole, String remains) throws InterruptedException {
    assertFree(
        bound().multipliedBy(2),
        whole,
        "a " + remains + " whose answer was lost was not undone by its client");
  }

  /** Loses the answer to an attempt of a client that never reaches the store again. */
  final void testLostClient(AcquirableFactory way, AcquirableFactory whole) throws Exception {
    for (Duration timeout : List.of(Duration.ZERO, bound())) { // only the second is queued
      String name = newName();
      Network network = network();
      LockClient unlucky = client(network, unrenewed());
      acquireNow(unlucky.lock(newName())).release();
      try (Disturbance lost = network.everywhere(proxy -> proxy.loseReplies(name))) {
        var unused = inThread(() -> way.of(unlucky, name).tryAcquire(timeout));
        assertAnswerLost(lost);
        Disturbance gone = network.partition(); // the client can neither continue nor undo
        assertFree(
            timing().ttl().multipliedBy(2).plus(bound()),
            whole.of(client(), name),
            "the grant to a client that vanished did not expire");
        gone.close();
      }
    }
  }

  /**
   * Cuts off waiters, and checks that those behind them are served soon after. Three that are cut
   * off come first, one after the other; one has live waiters before and behind it.
   *
   * @param alive the kind of the lease that is held at first, and of the waiters that are served
   * @param dead the kind of the waiters that are cut off; excludes the other
   */
  final void testDeadWaiters(Kind alive, Kind dead) throws Exception {
    String name = newName();
    LockClient observer = client();
    Network network = network();
    List<LockClient> doomed = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      doomed.add(client(network, renewed()));
    }
    Lease probe = acquireNow(doomed.get(0).lock(newName()));
    Duration limit = maxLifetime(probe);
    probe.release();
    Lease first = acquireNow(alive.of(observer, name));
    List<Future<ReleaseOutcome>> waiters = new ArrayList<>();
    for (int i = 0; i < doomed.size(); i++) {
      CompletableFuture<Lease> unused = dead.of(doomed.get(i), name).acquireAsync();
      awaitQueued(observer, name, i + 1 + waiters.size());
      assertNever(SHORT_WAIT, unused, "a request was granted beside a holder that excludes it");
      if (i >= 2) {
        Acquirable<Lease> behind = alive.of(client(), name);
        waiters.add(inThread(() -> behind.acquire().release()));
        awaitQueued(observer, name, i + 1 + waiters.size());
      }
    }
    Disturbance partition = network.partition();
    if (alive.whole() == alive) {
      first.release();
    }
    for (Future<ReleaseOutcome> waiter : waiters) {
      String late = "a dead waiter kept the others waiting for longer than its effective TTL";
      var unused = within(limit, waiter, late);
      limit = bound(); // all have died at the same time
    }
    first.release();
    assertStruck(bound(), partition);
  }

  /** Waits until a request that names the lock has lost its answer. */
  final void assertAnswerLost(Disturbance lost) throws InterruptedException {
    assumeTestable(
        lost.awaitHit(bound()),
        "no request of the client shows the lock's name, by which the proxy finds the answer");
  }

  /** Gets the lock, the side of a lock, or the permits that a test acquires. */
  interface AcquirableFactory {
    Acquirable<Lease> of(LockClient client, String name);
  }

  /** Acquires on a thread, and returns whether others were still held then. */
  final Future<Boolean> overlap(Callable<Lease> acquisition, BooleanSupplier othersHeld) {
    return inThread(
        () -> {
          try (Lease next = acquisition.call()) {
            return othersHeld.getAsBoolean() && next.isHeld();
          }
        });
  }

  /** {@return the effective TTL and the bound: by then a lease without renewal has ended} */
  final Duration maxLifetime(Lease lease) {
    return lease.effectiveTtl().plus(bound());
  }

  final Lease acquireWithin(Acquirable<Lease> lock, String message) throws InterruptedException {
    return acquireWithin(bound(), lock, message);
  }

  /** Acquires a lock that must be free or become free within the limit. */
  final Lease acquireWithin(Duration limit, Acquirable<Lease> lock, String message)
      throws InterruptedException {
    Pulse.Limit end = Pulse.ofThisJvm().limit(limit);
    long start = System.nanoTime();
    Optional<Lease> lease;
    do {
      lease = lock.tryAcquire(end.remaining());
    } while (lease.isEmpty() && !end.isOver());
    Duration untilTtl = timing().longTtl().dividedBy(2);
    if (limit.compareTo(untilTtl) < 0 && since(start).compareTo(untilTtl) > 0) {
      throw new LateError(message + " before its TTL can have freed it");
    }
    return lease.orElseGet(() -> fail(message + " within " + text(limit)));
  }

  /** Checks that a lock is free, or becomes free within the bound. */
  final void assertFree(Acquirable<Lease> lock, String message) throws InterruptedException {
    assertFree(bound(), lock, message);
  }

  /** Checks that a lock is free, or becomes free within the limit. */
  final void assertFree(Duration limit, Acquirable<Lease> lock, String message)
      throws InterruptedException {
    acquireWithin(limit, lock, message).release();
  }

  /** Like {@link #acquireWithin}, but polls often, so that the time of the grant is exact. */
  final Lease acquireAtOnce(Duration limit, Acquirable<Lease> lock, String message) {
    return retry(
        limit,
        Duration.ofMillis(3),
        lock::tryAcquire,
        () -> fail(message + " within " + text(limit)));
  }

  /** Renews a lease that must be held. Retries while the store is too busy to answer. */
  static void renewNow(Lease lease, Duration limit) throws InterruptedException {
    boolean unused =
        answer(
            limit,
            () -> {
              lease.renew();
              return true;
            });
  }

  /** Renews a lease that must be held, if the lock offers renewal. */
  static void renewIfOffered(Lease lease, Duration limit) throws InterruptedException {
    try {
      renewNow(lease, limit);
    } catch (NotOfferedException e) {
      // the other checks of the test remain
    }
  }

  /** Renews a lease without background renewal, if the lock offers renewal. */
  final void renewInTime(Lease lease) throws InterruptedException {
    try {
      renewIfOffered(lease, bound());
    } catch (LeaseLostException e) {
      throw new LateError("a lease expired before it could be renewed");
    }
  }

  /**
   * Acquires a lock that must be free now. Retries while the store is too busy to answer. After an
   * attempt in doubt an empty answer is no failure, since that attempt may still hold the lock.
   */
  final Lease acquireNow(Acquirable<Lease> lock) {
    return acquireNow(lock, "an attempt on a free lock returned empty");
  }

  final Lease acquireNow(Acquirable<Lease> lock, String message) {
    AtomicBoolean inDoubt = new AtomicBoolean();
    return retry(
        bound().multipliedBy(2),
        RETRY_PAUSE,
        () -> {
          boolean first = !inDoubt.getAndSet(true);
          Optional<Lease> acquired = lock.tryAcquire();
          return acquired.isEmpty() && first ? fail(message) : acquired;
        },
        () -> fail(message));
  }

  /** Acquires a released lock: at once, unless its release may still be in flight. */
  final Lease acquireAfter(ReleaseOutcome released, Acquirable<Lease> lock)
      throws InterruptedException {
    return acquireAfter(released, lock, "the lock is not free after its release");
  }

  final Lease acquireAfter(ReleaseOutcome released, Acquirable<Lease> lock, String message)
      throws InterruptedException {
    return released == ReleaseOutcome.RELEASED
        ? acquireNow(lock, message)
        : acquireWithin(lock, message);
  }

  /**
   * Acquires a lock with a new name. After an attempt in doubt it tries another name, so that no
   * request of this client that is still in flight can interfere.
   */
  final Lease acquireUndoubted(LockClient client) {
    return answer(
        bound().multipliedBy(2),
        () ->
            client
                .lock(newName())
                .tryAcquire()
                .orElseGet(() -> fail("an attempt on an unused name returned empty")));
  }

  /**
   * Checks that a timed attempt did not acquire a held lock. It may throw if the store was too busy
   * to answer.
   */
  final void assertNotAcquired(Future<Optional<Lease>> attempt, Duration timeout) throws Exception {
    Optional<Optional<Lease>> outcome =
        emptyOn( // the time-out may pass before the store answers
            LockUnavailableException.class,
            () -> within(timeout.plus(bound()), attempt, "a timed attempt did not end"));
    assertTrue(outcome.flatMap(lease -> lease).isEmpty(), "a held lock was acquired");
  }

  /** Checks that an attempt on a held lock does not succeed. */
  final void assertRefused(Acquirable<Lease> lock, String message) {
    answer(lock::tryAcquire)
        .ifPresent(
            lease -> {
              lease.release();
              fail(message);
            });
  }

  /** Checks that a lease can be renewed, if the lock offers renewal. */
  final void assertRenewed(Lease lease, String message) throws InterruptedException {
    try {
      renewIfOffered(lease, bound());
    } catch (LeaseLostException e) {
      fail(message, e);
    }
  }

  /** Checks the label and token that the store shows of a lease, if it shows them. */
  final void assertShown(Optional<String> label, OptionalLong token, String holder, Lease lease) {
    label.ifPresent(shown -> assertEquals(holder, shown, "the holder shown"));
    if (has(Capability.FENCING)) {
      token.ifPresent(shown -> assertEquals(lease.fencingToken(), shown, "the token shown"));
    }
  }

  /** Checks that a lease is held. If not, the reason of its loss is the cause of the failure. */
  static void assertHeld(Lease lease, String message) {
    try {
      lease.ensureHeld();
    } catch (LeaseLostException | IllegalStateException e) {
      throw new AssertionFailedError(message, e);
    }
  }

  /** Checks that a listing shows of a lock what inspection shows. */
  final void assertListedAs(LockState inspected, LockState listed) {
    assertEquals(
        attributes(inspected), attributes(listed), "a listing shows another state than inspection");
  }

  /**
   * Waits until a listing shows as many holders of a name as are left when others have ended.
   *
   * @param inspects whether to compare with inspection, which may also remove what has ended
   */
  final void awaitEndListed(
      LockClient observer, String name, int remaining, boolean inspects, Duration limit) {
    String message = "a hold that has ended is still listed";
    eventually(
        limit,
        () -> {
          int inspected =
              inspects && !has(Capability.REPLICATED)
                  ? observer.admin().inspect(name).holders().size()
                  : Integer.MAX_VALUE;
          int listed = observer.admin().list(name).mapToInt(state -> state.holders().size()).sum();
          assertTrue(listed <= inspected, message);
          return listed == remaining;
        },
        message);
  }

  private List<Object> attributes(LockState state) {
    List<Object> attributes = new ArrayList<>(List.of(state.name(), state.kind(), state.limit()));
    for (LockState.Holder holder : state.holders()) {
      attributes.add(List.of(holder.label(), holder.mode(), holder.permits()));
      if (!has(Capability.REPLICATED)) { // a node that answers late may be the one that knows these
        attributes.add(List.of(holder.fencingToken(), holder.heldSince()));
        attributes.add(holder.remaining().isPresent() ? "with its remaining time" : "");
      }
    }
    return attributes;
  }

  /**
   * Checks that a forced release ends all holds of a name, and that these cannot touch the next.
   */
  final void testForcedRelease(AcquirableFactory some, AcquirableFactory whole, int holders)
      throws Exception {
    String name = newName();
    LockClient operator = client();
    assertFalse(
        answer(() -> operator.admin().forceRelease(name)), "a free lock was reported as held");
    List<Lease> forced = new ArrayList<>();
    while (forced.size() < holders) {
      forced.add(acquireNow(some.of(client(), name)));
    }
    forceRelease(operator, name, "a held lock was reported as free");
    Lease next =
        acquireNow(whole.of(operator, name), "the lock is not free after the forced release");
    for (Lease lease : forced) {
      assertHigherToken(
          next,
          lease,
          "the successor of a forced lease has no higher token: the token does not tell them apart");
      lease.release();
    }
    assertHeld(next, "the release of a forced lease touched its successor");
    assertRefused(some.of(client(), name), "the release of a forced lease touched its successor");
    assertRenewed(next, "the release of a forced lease touched its successor");
    next.release();
  }

  /** Checks that a revocation ends all holds of a name, and that nothing is granted before that. */
  final void testRevocation(AcquirableFactory some, AcquirableFactory whole, int holders)
      throws Exception {
    String name = newName();
    LockClient operator = client();
    assertFalse(answer(() -> operator.admin().revoke(name)), "a free lock was reported as held");
    Revocation renewed = new Revocation(renewed(), operator, some, whole, holders);
    // Such a holder does not ask the store, so a slow successor cannot hide an overlap.
    Revocation unrenewed = new Revocation(expiring(), operator, some, whole, holders);
    renewed.assertExclusive();
    unrenewed.assertExclusive();
  }

  /** Revoked leases, and a waiter for the whole name. */
  private final class Revocation {
    private final List<Lease> revoked = new ArrayList<>();
    private final Future<Boolean> overlap;

    Revocation(
        LockOptions options,
        LockClient operator,
        AcquirableFactory some,
        AcquirableFactory whole,
        int holders) {
      String name = newName();
      while (revoked.size() < holders) {
        revoked.add(acquireNow(some.of(client(options), name)));
      }
      overlap =
          overlap(
              whole.of(operator, name)::acquire, () -> revoked.stream().anyMatch(Lease::isHeld));
      revoke(operator, name);
      boolean again = answer(() -> operator.admin().revoke(name));
      assertTrue(again || !revoked.get(0).isHeld(), "a revoked lock was reported as free");
    }

    void assertExclusive() throws Exception {
      assertFalse(
          within(
              maxLifetime(revoked.get(0)),
              overlap,
              "no waiter acquired the lock after the revoked lease had ended"),
          "the successor acquired the lock while the revoked lease was still valid");
      revoked.forEach(lease -> assertFalse(lease.isHeld(), "a revoked lease was renewed"));
    }
  }

  /**
   * Releases a lease, checks that the store had not freed its lock before, and returns the outcome.
   */
  static ReleaseOutcome assertReleased(Lease lease, String message) {
    ReleaseOutcome outcome = lease.release();
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome, message);
    return outcome;
  }

  /** {@return the states of a held name that inspection and, if it is offered, a listing show} */
  final List<LockState> statesShown(LockClient observer, String name) {
    List<LockState> states = new ArrayList<>(List.of(answer(() -> observer.admin().inspect(name))));
    if (has(Capability.LIST)) {
      states.addAll(answer(() -> observer.admin().list(name).toList()));
      assertEquals(2, states.size(), "how often a held name is listed");
    }
    return states;
  }

  /** Checks the outcome of a release before the minimum hold, unless that was over by then. */
  static void assertDeferred(String outcome, long acquired, Duration minHold) {
    assumeTestable(
        outcome.equals("DEFERRED") || since(acquired).compareTo(minHold) < 0,
        "the minimum hold was over before the release");
    assertEquals("DEFERRED", outcome, "an early release was not deferred");
  }

  /**
   * Checks that the lock is shown as free: at once if the store confirmed the release. If one of
   * several nodes does not answer, the others may need longer to know.
   */
  final void assertSeenFree(LockClient observer, String name, ReleaseOutcome outcome) {
    if (outcome == ReleaseOutcome.RELEASED && !has(Capability.REPLICATED)) {
      assertFalse(
          answer(() -> observer.admin().inspect(name)).isHeld(),
          () -> "shown as held after its release: " + name);
    } else {
      eventually(
          () -> !observer.admin().inspect(name).isHeld(),
          "shown as held long after its release: " + name);
    }
  }

  /** Deletes the lock in the store, without notice to its holder. */
  final void takeAway(String name) throws Exception {
    takeAway(client(), name);
  }

  /** Like {@link #takeAway(String)}, with an open client, for leases with a short TTL. */
  final void takeAway(LockClient client, String name) throws Exception {
    if (!kit().server().delete(name)) {
      forceRelease(client, name, "forceRelease did not see the holder");
    }
  }

  final void forceRelease(LockClient client, String name, String message) {
    intervene(() -> client.admin().forceRelease(name), message);
  }

  final void revoke(LockClient client, String name) {
    intervene(() -> client.admin().revoke(name), "a held lock was reported as free");
  }

  /** Sends a request that ends a hold. If it is repeated, it may find nothing held. */
  private void intervene(Question<Boolean, RuntimeException> request, String message) {
    AtomicBoolean inDoubt = new AtomicBoolean();
    assertTrue(
        answer(
            () -> {
              boolean asked = inDoubt.getAndSet(true);
              return request.ask() || asked;
            }),
        message);
  }

  /** Checks that the later lease has the higher token, if the backend has tokens. */
  final void assertHigherToken(Lease later, Lease earlier, String message) {
    assertTrue(!has(Capability.FENCING) || later.fencingToken() > earlier.fencingToken(), message);
  }

  /** Checks a history whose faults are all within the failure model. */
  static void assertExclusive(Collection<Event> history) {
    List<Violation> violations = HistoryChecker.withinFailureModel().check(history);
    if (!violations.isEmpty()) {
      fail(violations.stream().map(Violation::toString).collect(Collectors.joining("\n")));
    }
  }

  static void each(List<ServerNode> nodes, Action<ServerNode> fault) throws Exception {
    for (ServerNode node : nodes) {
      fault.on(node);
    }
  }

  static void killAndRestart(ServerNode node) throws Exception {
    node.kill();
    node.restart();
  }

  static void assertStruck(Disturbance disturbance) throws InterruptedException {
    assertStruck(Duration.ofMillis(1), disturbance);
  }

  static void assertStruck(Duration within, Disturbance disturbance) throws InterruptedException {
    assumeTestable(
        disturbance.awaitHit(within),
        "the fault had no effect: the client's requests do not pass the proxy");
  }

  static String text(Duration duration) {
    return duration.toMillis() + " ms";
  }

  static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }
}
