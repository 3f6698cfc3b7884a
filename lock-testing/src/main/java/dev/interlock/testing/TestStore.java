package dev.interlock.testing;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A lock store inside the test's JVM that fails on demand. Its clients behave like those of a real
 * store: the same engine waits, renews, and signals losses.
 *
 * <pre>{@code
 * try (TestStore store = new TestStore(); LockClient client = store.open()) {
 *   Lease lease = client.lock("job").acquire();
 *   store.takeAway("job");
 *   lease.renew();                     // throws LeaseLostException
 *
 *   store.goDown();
 *   client.lock("job").tryAcquire();   // throws LockUnavailableException
 *   store.recover();
 * }
 * }</pre>
 *
 * <p>It supports all kinds of locks, and listings. It keeps no queue: waiters are served in any
 * order, and a writer is served once no reader holds the lock.
 *
 * <p>The methods that make the store fail apply to every later request of all clients, until {@link
 * #recover()}. Each call replaces the previous one. Safe for use by several threads.
 */
public final class TestStore implements AutoCloseable {

  private static final AtomicLong STORES = new AtomicLong();
  private static final BackendInfo INFO =
      BackendInfoBuilder.of("test", "a table inside the test's JVM that fails on demand")
          .capabilities(
              Capability.FENCING,
              Capability.REVOKE,
              Capability.LIST,
              Capability.READ_WRITE,
              Capability.SEMAPHORE,
              Capability.DEFERRED_RELEASE)
          .minTtl(Duration.ofMillis(1))
          .build();

  private enum Fault {
    NONE,
    DOWN,
    SILENT,
    REPLIES_LOST
  }

  private final String name = "test-store-" + STORES.incrementAndGet();
  private final TimeSource time;
  private final Set<WakeUp> requests = ConcurrentHashMap.newKeySet();
  private final Set<Watcher> watchers = ConcurrentHashMap.newKeySet();
  private final LockClient administrator;
  private volatile Fault fault = Fault.NONE;
  private volatile Duration delay = Duration.ZERO;

  /** Creates a store on the JVM's clocks. */
  public TestStore() {
    this(TimeSource.system());
  }

  /**
   * Creates a store on other clocks, such as a {@link ManualClock}. Its clients use them, too.
   *
   * @param time the clocks
   */
  public TestStore(TimeSource time) {
    this.time = time;
    this.administrator = ClientsWithTimeSource.open("memory:" + name, LockOptions.defaults(), time);
  }

  /**
   * Opens a client with the default options.
   *
   * @return a client; close it before the store
   */
  public LockClient open() {
    return open(LockOptions.defaults());
  }

  /**
   * Opens a client. Clients contend with each other as if they ran in different processes.
   *
   * @param options the client's options
   * @return a client; close it before the store
   */
  public LockClient open(LockOptions options) {
    return ClientsWithTimeSource.using(Backend::new, options, time);
  }

  /** Fails every request at once, without executing it, as a refused connection does. */
  public void goDown() {
    fail(Fault.DOWN);
  }

  /**
   * Leaves every request unanswered: it blocks until its time-out, and then fails. If the store
   * {@linkplain #recover() recovers} before, it executes the requests that are still blocked.
   */
  public void fallSilent() {
    fail(Fault.SILENT);
  }

  /**
   * Executes every request but loses the reply: the caller blocks until its time-out, and then
   * fails.
   */
  public void loseReplies() {
    fail(Fault.REPLIES_LOST);
  }

  /**
   * Delays every request before it is executed. A request with a shorter time-out fails without
   * being executed.
   *
   * @param delay the delay; zero for none
   */
  public void slowDown(Duration delay) {
    this.delay = delay;
    fail(Fault.NONE);
  }

  /** Ends every fault and every delay. */
  public void recover() {
    slowDown(Duration.ZERO);
  }

  private void fail(Fault next) {
    fault = next;
    requests.forEach(WakeUp::signal);
  }

  /**
   * Takes a lock away from its holder, as an operator or an eviction may do. Works under every
   * fault. The holder learns of it at its next renewal.
   *
   * @param lock the lock's name
   * @return whether it was held
   */
  public boolean takeAway(String lock) {
    boolean wasHeld = administrator.admin().forceRelease(lock);
    signal(lock);
    return wasHeld;
  }

  /**
   * {@return the state of a lock on the store} Works under every fault.
   *
   * @param lock the lock's name
   */
  public LockState inspect(String lock) {
    return administrator.admin().inspect(lock);
  }

  /** {@return the number of requests that are delayed or wait for an answer} */
  public int pendingRequests() {
    return requests.size();
  }

  private void signal(String lock) {
    watchers.stream()
        .filter(watcher -> watcher.lock().equals(lock))
        .forEach(watcher -> watcher.wakeUp().signal());
  }

  /** Ends the store. Close its clients first. */
  @Override
  public void close() {
    administrator.close();
  }

  private record Watcher(String lock, WakeUp wakeUp) {}

  @FunctionalInterface
  private interface Request<R> {
    R execute() throws InterruptedException;
  }

  /** The backend of one client. Every request is subject to the faults. */
  private final class Backend implements LockBackend {
    private final LockBackend memory;

    Backend(BackendContext context) {
      this.memory = new MemoryProvider().open(LockUri.parse("memory:" + name), context);
    }

    @Override
    public BackendInfo info() {
      return INFO;
    }

    @Override
    public String endpoint() {
      return name;
    }

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
      return ask(
          deadline,
          () -> {
            Attempt attempt = memory.tryAcquire(claim, deadline);
            return attempt instanceof Attempt.Busy
                ? new Attempt.Busy(
                    memory.inspect(claim.name(), deadline).remaining().orElse(Duration.ZERO))
                : attempt;
          });
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
      return ask(deadline, () -> memory.renew(grant, deadline));
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      return askToFree(claim.name(), deadline, () -> memory.release(claim, deadline));
    }

    @Override
    public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
        throws InterruptedException {
      return askToFree(claim.name(), deadline, () -> memory.releaseAfter(claim, delay, deadline));
    }

    @Override
    public Watch watch(String lock, WakeUp wakeUp) {
      Watcher watcher = new Watcher(lock, wakeUp);
      watchers.add(watcher);
      wakeUp.signal();
      return () -> watchers.remove(watcher);
    }

    @Override
    public LockState inspect(String lock, Deadline deadline) throws InterruptedException {
      return ask(deadline, () -> memory.inspect(lock, deadline));
    }

    @Override
    public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
        throws InterruptedException {
      return ask(deadline, () -> memory.list(prefix, cursor, limit, deadline));
    }

    @Override
    public boolean forceRelease(String lock, Deadline deadline) throws InterruptedException {
      return askToFree(lock, deadline, () -> memory.forceRelease(lock, deadline));
    }

    @Override
    public boolean revoke(String lock, Deadline deadline) throws InterruptedException {
      return ask(deadline, () -> memory.revoke(lock, deadline));
    }

    @Override
    public void close() {
      memory.close();
    }

    private boolean askToFree(String lock, Deadline deadline, Request<Boolean> request)
        throws InterruptedException {
      return ask(
          deadline,
          () -> {
            boolean freed = request.execute();
            signal(lock);
            return freed;
          });
    }

    private <R> R ask(Deadline deadline, Request<R> request) throws InterruptedException {
      WakeUp change = new WakeUp(time);
      requests.add(change);
      try {
        Deadline arrival = Deadline.in(time, delay);
        while (true) {
          switch (fault) {
            case NONE -> {
              if (delay.isZero() || arrival.hasPassed()) {
                return request.execute();
              }
              await(change, arrival, deadline);
            }
            case DOWN -> throw unavailable("the test store is down");
            case SILENT -> await(change, deadline, deadline);
            case REPLIES_LOST -> {
              request.execute();
              while (true) {
                await(change, deadline, deadline);
              }
            }
          }
        }
      } finally {
        requests.remove(change);
      }
    }

    private void await(WakeUp change, Deadline until, Deadline deadline)
        throws InterruptedException {
      change.await(until.nanos() - deadline.nanos() < 0 ? until : deadline);
      if (deadline.hasPassed()) {
        throw unavailable("the test store did not answer in time");
      }
    }

    private LockUnavailableException unavailable(String problem) {
      return new LockUnavailableException(INFO.name(), name, problem, null);
    }
  }
}
