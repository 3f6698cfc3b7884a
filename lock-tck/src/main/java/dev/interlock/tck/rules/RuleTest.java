package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Kit;
import dev.interlock.tck.NotApplicableException;
import dev.interlock.tck.NotTestedException;
import dev.interlock.tck.Requires;
import dev.interlock.tck.Server;
import dev.interlock.tck.Timing;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisErrors;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What the tests of all rules share: clients, networks, processes and threads that end with the
 * test, and the ways to wait.
 *
 * <p>Every test uses names of its own, so that all can run at once on one server.
 */
@Execution(ExecutionMode.CONCURRENT)
@DisplayNameGeneration(RuleNames.class)
@Timeout(value = 5, unit = TimeUnit.MINUTES)
public abstract class RuleTest {
  private static final int MOST_WARM_UPS = 10;

  private final Supplier<Kit> kit;
  private final Deque<AutoCloseable> resources = new ArrayDeque<>();
  private final List<Network> networks = new CopyOnWriteArrayList<>();
  private final List<Thread> threads = new CopyOnWriteArrayList<>();

  /**
   * For {@link dev.interlock.tck.LockTck}.
   *
   * @param kit gives the run; called by each test
   */
  protected RuleTest(Supplier<Kit> kit) {
    this.kit = kit;
  }

  @BeforeEach
  void checkRequirement(TestInfo test) {
    Requires requires = test.getTestMethod().orElseThrow().getAnnotation(Requires.class);
    if (requires != null && info().has(requires.value()) == requires.absent()) {
      throw new NotApplicableException(
          info().name()
              + (requires.absent() ? " declares " : " does not declare ")
              + requires.value());
    }
  }

  @AfterEach
  void endEverything() throws Exception {
    networks.forEach(Network::heal); // so that clients can say good-bye
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
      thread.join(bound().toMillis());
      if (thread.isAlive()) {
        AssertionError stuck = new AssertionError(thread.getName() + " is still blocked");
        stuck.setStackTrace(thread.getStackTrace());
        throw stuck;
      }
    }
    if (failure != null) {
      throw new IllegalStateException("the test cannot be cleaned up after: " + failure, failure);
    }
  }

  // --- what is tested ---

  final Kit kit() {
    return kit.get();
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

  final boolean cannotHappen(Fault fault) {
    return info().failureModel().under(fault) == Survives.NOT_APPLICABLE;
  }

  final String newName() {
    return kit().newName();
  }

  // --- options ---

  /** Leases that neither run out nor need renewal during a test. */
  final LockOptions lasting() {
    return options(timing().longTtl(), true);
  }

  /** Leases that run out. */
  final LockOptions passing() {
    return options(timing().ttl(), false);
  }

  /** Leases that are kept alive by renewal, and end soon without it. */
  final LockOptions renewed() {
    return options(timing().renewedTtl(), true);
  }

  /** Gives one lock a TTL of its own, and renewal. */
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
    return client(lasting());
  }

  final LockClient client(LockOptions options) {
    return client(kit().server().uri(), options);
  }

  final LockClient client(Network network, LockOptions options) {
    return client(network.uri(), options);
  }

  final LockClient client(String uri, LockOptions options) {
    return closing(kit().open(uri, options));
  }

  /** Closes it after the test, the last one first. */
  final <T extends AutoCloseable> T closing(T resource) {
    synchronized (resources) {
      resources.push(resource);
    }
    return resource;
  }

  /** Proxies in front of the shared server. */
  final Network network() throws Exception {
    return network(kit().server());
  }

  final Network network(Server server) throws Exception {
    if (cannotHappen(Fault.PARTITION)) {
      throw new NotApplicableException(info().name() + " has no network");
    }
    Network network = throughProxies(kit().network(server.uri()));
    networks.add(network);
    return network;
  }

  /** Clients that are sent through proxies have to stay behind them. */
  private <T extends AutoCloseable> T throughProxies(Optional<T> way) throws Exception {
    if (way.isEmpty()) {
      throw new NotTestedException(
          "the URI has no host and port that a proxy could be put in front of");
    }
    closing(way.get());
    if (!kit().staysBehindProxies()) {
      throw new NotTestedException(
          "the servers lead clients past the kit's proxies, to the addresses that they know");
    }
    return way.get();
  }

  /** A way to the shared server on which commands of the Redis protocol can be refused. */
  final RedisErrors redisErrors() throws Exception {
    if (cannotHappen(Fault.PARTITION)) {
      throw new NotApplicableException(info().name() + " has no network");
    }
    RedisErrors way = throughProxies(kit().redisErrors(kit().server().uri()));
    acquireNow(client(way.uri(), lasting()).lock(newName())).release();
    if (way.encrypted()) {
      throw new NotTestedException("what is encrypted cannot be answered by the kit's proxies");
    }
    if (!way.speaksRedis()) {
      throw new NotApplicableException(info().name() + " does not speak the Redis protocol");
    }
    return way;
  }

  /** A server that nobody else uses. */
  final Server ownServer() throws Exception {
    if (cannotHappen(Fault.SERVER_STOPPED)) {
      throw new NotApplicableException(info().name() + " has no server process");
    }
    if (!kit().harness().startsServers()) {
      throw new NotTestedException("the harness has no servers that the kit may stop");
    }
    return closing(kit().harness().start());
  }

  /** A server that nobody else uses, and whose processes may be stopped. */
  final Server ownServerWithNodes() throws Exception {
    Server server = ownServer();
    if (server.nodes().isEmpty()) {
      throw new NotTestedException("the harness cannot stop and kill its servers");
    }
    return server;
  }

  final OtherProcess process(LockOptions options) throws Exception {
    if (cannotHappen(Fault.CLIENT_KILLED)) {
      throw new NotApplicableException(info().name() + " lives within one process");
    }
    return separateProcess(options);
  }

  /** Loads whatever a client needs, so that no test waits for classes instead of for the store. */
  static final class WarmUp implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      for (int i = 0; ; i++) {
        try {
          worker.client().lock(arguments.get(0)).tryAcquire().ifPresent(Lease::release);
          return "";
        } catch (LockUnavailableException e) {
          if (i == MOST_WARM_UPS) {
            throw e;
          }
        }
      }
    }
  }

  /** Also for backends that share nothing between processes. */
  final OtherProcess separateProcess(LockOptions options) throws Exception {
    OtherProcess process = anyProcess(kit().server().uri(), options, false);
    process.call(Duration.ofMinutes(1), WarmUp.class, newName());
    return process;
  }

  final OtherProcess anyProcess(
      String uri, LockOptions options, boolean trace, String... jvmArguments) throws Exception {
    if (!OtherProcess.canMake(kit().harness())) {
      throw new NotTestedException(
          "other processes cannot make the harness: it has to be a class with a constructor without"
              + " parameters");
    }
    return closing(
        OtherProcess.start(
            new OtherProcess.Settings(
                kit().harness(), uri, options, List.of(jvmArguments), trace)));
  }

  // --- threads ---

  /** Runs something on a thread that is interrupted when the test ends. */
  final <T> Future<T> inThread(Callable<T> work) {
    return inThread(work, new CompletableFuture<>());
  }

  private <T> Future<T> inThread(Callable<T> work, CompletableFuture<T> result) {
    start(
        () -> {
          try {
            result.complete(work.call());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        });
    return result;
  }

  final Thread start(Runnable work) {
    Thread thread = new Thread(work, "tck-test-" + threads.size());
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
    return thread;
  }

  // --- waiting ---

  /** The result, which must be there within the limit. */
  final <T> T within(Duration limit, Future<T> future, String otherwise) throws Exception {
    try {
      return future.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      return fail(otherwise + " within " + text(limit));
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  /** Waits for something that can only be seen by looking. */
  final void eventually(Duration limit, BooleanSupplier condition, String otherwise) {
    long end = System.nanoTime() + limit.toNanos();
    while (true) {
      // The verdict is that of a look that began when the time was up, however long a look takes.
      boolean last = System.nanoTime() - end > 0;
      if (holds(condition, last)) {
        return;
      }
      if (last) {
        fail(otherwise + " within " + text(limit));
      }
      LockSupport.parkNanos(2_000_000);
    }
  }

  /** A store that is too busy to say so is asked again. */
  private static boolean holds(BooleanSupplier condition, boolean last) {
    try {
      return condition.getAsBoolean();
    } catch (LockUnavailableException e) {
      if (last) {
        throw e;
      }
      return false;
    }
  }

  /** Something that is asked of the store. */
  interface Question<T, E extends Exception> {
    T ask() throws E;
  }

  /** What the store answers to a question. If it is too busy to do so, it is asked again. */
  final <T, E extends Exception> T answer(Question<T, E> question) throws E {
    long end = System.nanoTime() + bound().toNanos();
    while (true) {
      boolean last = System.nanoTime() - end > 0;
      try {
        return question.ask();
      } catch (LockUnavailableException e) {
        if (last) {
          throw e;
        }
      }
      LockSupport.parkNanos(20_000_000);
    }
  }

  /** Watches for as long as given that something does not happen. */
  final void never(Duration duration, Future<?> event, String otherwise) throws Exception {
    try {
      Object happened = event.get(duration.toMillis(), TimeUnit.MILLISECONDS);
      fail(otherwise + ": " + happened);
    } catch (TimeoutException e) {
      // as it has to be
    }
  }

  /** Lets a time pass in which nothing is expected to happen that could be waited for. */
  static void letPass(Duration duration) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(duration.toNanos());
  }

  /** Waits until the lease says by itself that its validity is over. */
  final void outlive(Lease lease) {
    eventually(lease.effectiveTtl().plus(bound()), () -> !lease.isHeld(), "the lease did not end");
  }

  /** Waits until so many are in line, if the store shows its line. */
  final void awaitInLine(LockClient observer, String name, int count) {
    if (has(Capability.FIFO)) {
      eventually(
          bound().multipliedBy(2),
          () -> observer.inspect(name).waiters().size() >= count,
          "a waiter was not shown in line");
    }
  }

  // --- leases ---

  /** Acquires a lock that must be free, or become so within the limit. */
  final Lease acquireWithin(Duration limit, DistributedLock lock, String otherwise)
      throws InterruptedException {
    return lock.tryAcquire(limit).orElseGet(() -> fail(otherwise + " within " + text(limit)));
  }

  /** Renews a lease that must be held. A store that is too busy to answer is asked again. */
  static void renewNow(Lease lease, Duration limit) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (true) {
      boolean last = System.nanoTime() - end > 0;
      try {
        lease.renew();
        return;
      } catch (LockUnavailableException e) {
        if (last) {
          throw e;
        }
      }
      letPass(Duration.ofMillis(20));
    }
  }

  /**
   * Acquires a lock that must be free at this moment. A store that is too busy to answer is asked
   * again; what the attempt may have left there is in the way until it is undone.
   */
  final Lease acquireNow(DistributedLock lock) {
    return acquireNow(lock, "the lock is free, and an attempt came back empty");
  }

  final Lease acquireNow(DistributedLock lock, String otherwise) {
    long end = System.nanoTime() + bound().multipliedBy(2).toNanos();
    boolean inDoubt = false;
    while (true) {
      boolean last = System.nanoTime() - end > 0;
      try {
        Optional<Lease> had = lock.tryAcquire();
        if (had.isPresent()) {
          return had.get();
        }
        if (!inDoubt || last) {
          return fail(otherwise);
        }
      } catch (LockUnavailableException e) {
        if (last) {
          throw e;
        }
        inDoubt = true;
      }
      LockSupport.parkNanos(20_000_000);
    }
  }

  /** Acquires a lock that was released: at once, unless its release may be on its way yet. */
  final Lease acquireAfter(ReleaseOutcome released, DistributedLock lock)
      throws InterruptedException {
    return acquireAfter(released, lock, "the lock is not free after its release");
  }

  final Lease acquireAfter(ReleaseOutcome released, DistributedLock lock, String otherwise)
      throws InterruptedException {
    return released == ReleaseOutcome.RELEASED
        ? acquireNow(lock, otherwise)
        : acquireWithin(bound(), lock, otherwise);
  }

  /**
   * Acquires a lock of a new name, and of another one after an attempt that is in doubt: nothing
   * else of this client is on the way to the store that could be in anybody's way.
   */
  final Lease acquireUndoubted(LockClient client) {
    long end = System.nanoTime() + bound().multipliedBy(2).toNanos();
    while (true) {
      try {
        return client
            .lock(newName())
            .tryAcquire()
            .orElseGet(() -> fail("an attempt on a name that nobody has used came back empty"));
      } catch (LockUnavailableException e) {
        if (System.nanoTime() - end > 0) {
          throw e;
        }
      }
    }
  }

  /** A timed attempt on a held lock ends without it; a busy store may not say that it is held. */
  final void assertNotAcquired(Future<Optional<Lease>> attempt, Duration patience)
      throws Exception {
    try {
      assertTrue(
          within(patience.plus(bound()), attempt, "a timed attempt did not end").isEmpty(),
          "a held lock was had");
    } catch (LockUnavailableException e) {
      // Its time was over before the store answered.
    }
  }

  /** An attempt of somebody else must not succeed. */
  final void assertRefused(DistributedLock lock, String otherwise) {
    answer(lock::tryAcquire)
        .ifPresent(
            lease -> {
              lease.release();
              fail(otherwise);
            });
  }

  /** The store held the lock for its lease until now. One that is too busy may not say so. */
  static void assertReleased(Lease lease, String otherwise) {
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, lease.release(), otherwise);
  }

  /** Whoever looks sees the lock free, if its release is known to have arrived at once. */
  final void assertSeenFree(LockClient observer, String name, ReleaseOutcome outcome) {
    if (outcome == ReleaseOutcome.RELEASED) {
      assertFalse(
          answer(() -> observer.inspect(name)).isHeld(),
          () -> "seen as held after its release: " + name);
    } else {
      eventually(
          bound(), () -> !observer.inspect(name).isHeld(), "the release did not arrive: " + name);
    }
  }

  /** The lock is as if somebody had deleted it in the store. */
  final void takeAway(String name) throws Exception {
    takeAway(client(), name);
  }

  /** The same, by a client that is there already, while the lease that is to be hit has time. */
  final void takeAway(LockClient client, String name) throws Exception {
    if (!kit().server().delete(name)) {
      forceRelease(client, name, "forceRelease did not see the holder");
    }
  }

  /** Takes a lock away that is held. Only the first answer can say so. */
  final void forceRelease(LockClient client, String name, String otherwise) {
    AtomicBoolean inDoubt = new AtomicBoolean();
    boolean seen =
        answer(
            () -> {
              boolean asked = inDoubt.getAndSet(true);
              return client.forceRelease(name) || asked;
            });
    assertTrue(seen, otherwise);
  }

  static void struck(Disturbance disturbance) throws InterruptedException {
    if (!disturbance.awaitHit(Duration.ofMillis(1))) {
      throw new NotTestedException(
          "the fault did not strike: the client's requests do not pass the proxy");
    }
  }

  static String text(Duration duration) {
    return duration.toMillis() + " ms";
  }

  static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }
}
