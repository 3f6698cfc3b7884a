package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts that a whole client shares: store, clocks, timer, threads, and reports, and whether the
 * client is open. The engine does not know leases.
 */
final class Engine {

  static final Logger log = LoggerFactory.getLogger(LockClient.class);

  /** The client's record of its leases. */
  interface Ledger {
    /** Called when the store reports that a claim has lost its grant. */
    void reportLoss(Claim claim, LossReason reason, String detail);

    /** Returns the label of the lease with which this client holds all of a name, or null. */
    @Nullable String holder(String name);
  }

  final LockOptions options;
  final Platform platform;
  final LockBackend store;
  final BackendInfo backend;
  final Threads threads;
  final Timer timer;
  final Renewer renewer;
  final Notifier notifier;
  final LeaseLog leaseLog;
  final Cleanup cleanup;
  final Reports reports;
  final ClaimIds claimIds;
  final CallSites callSites;

  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile boolean endsLeases;

  /** Wakes the closing thread when an acquisition, a lease or a candidacy has ended. */
  private final WakeUp ended;

  Engine(BackendFactory factory, LockOptions options, TimeSource time, Ledger ledger) {
    this.options = requireNonNull(options, "options");
    this.platform = Platform.on(time);
    this.ended = new WakeUp(platform);
    this.claimIds = new ClaimIds(platform);
    this.callSites = new CallSites(platform);
    this.store = factory.open(new Context(options, platform, ledger));
    this.backend = store.info();
    this.threads = new Threads(platform, backend.name(), store.maxGrantsPerRenewal() > 1);
    this.renewer = new Renewer(this);
    this.timer = new Timer(platform, backend.name() + "-timer", renewer::flush);
    this.notifier = new Notifier(platform, threads.callbacks, threads.deliveries, timer);
    this.leaseLog = new LeaseLog(this);
    this.cleanup = new Cleanup(this);
    this.reports = new Reports(platform, notifier, ledger);
  }

  private record Context(LockOptions options, TimeSource time, Ledger ledger)
      implements BackendContext {
    @Override
    public void reportLoss(Claim claim, LossReason reason, String detail) {
      ledger.reportLoss(claim, reason, detail);
    }
  }

  // --- time -----------------------------------------------------------------------------------

  Duration requestTimeout() {
    return options.requestTimeout();
  }

  Deadline requestDeadline() {
    return in(requestTimeout());
  }

  Deadline in(Duration duration) {
    return Deadline.in(platform, duration);
  }

  // --- asking the store -------------------------------------------------------------------------

  interface StoreCall<T> {
    T run() throws InterruptedException;
  }

  /** Runs a call to the store without the caller's interrupt status, which is restored. */
  <T> T callUninterrupted(StoreCall<T> call) {
    ensureOpen();
    boolean interrupted = Thread.interrupted();
    try {
      return call.run();
    } catch (InterruptedException e) {
      interrupted = true;
      throw unavailable("the thread was interrupted while it asked the store", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Runs a call about one lock without the caller's interrupt status, which is restored. */
  <T> T callFor(String name, StoreCall<T> call) {
    Names.checked(name);
    try {
      return callUninterrupted(call);
    } catch (LockUnavailableException e) {
      throw withName(name, e);
    }
  }

  /** Requires an open client, and a capability of its backend. */
  void require(Capability capability, String what) {
    ensureOpen();
    if (!backend.has(capability)) {
      throw new UnsupportedOperationException(
          "the backend %s does not support %s; see LockClient.backend()"
              .formatted(backend.name(), what));
    }
  }

  LockState inspect(String name) throws InterruptedException {
    return withLeaseToken(store.inspect(name, requestDeadline()));
  }

  /** Replaces the store's token, which is that of the grant, by the token of the first lease. */
  static LockState withLeaseToken(LockState state) {
    return LockStates.mapTokens(state, token -> token * Grant.LEASES_PER_GRANT);
  }

  LockUnavailableException unavailable(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(backend.name(), store.endpoint(), problem, cause);
  }

  /** Returns the failure of a request about one lock. */
  LockUnavailableException unavailable(String name, String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(name, unavailable(problem, cause));
  }

  static LockUnavailableException withName(String name, LockUnavailableException problem) {
    return problem.name().isPresent() ? problem : new LockUnavailableException(name, problem);
  }

  // --- closing ----------------------------------------------------------------------------------

  /** Closes the client for new work; false if it was closed before. */
  boolean beginToClose() {
    return closed.compareAndSet(false, true);
  }

  boolean isClosed() {
    return closed.get();
  }

  /** Ends the wait of a closing client for held leases. */
  void endLeases() {
    endsLeases = true;
  }

  boolean endsLeases() {
    return endsLeases;
  }

  IllegalStateException closed() {
    return new IllegalStateException(
        "the lock client for " + backend.name() + " at " + store.endpoint() + " is closed");
  }

  void ensureOpen() {
    if (closed.get()) {
      throw closed();
    }
  }

  /** Wakes the thread that closes the client, if any. */
  void signalEnd() {
    if (closed.get()) {
      ended.signal();
    }
  }

  /** Waits until the condition holds, and checks it after each {@link #signalEnd}. */
  void awaitEnd(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
    boolean signalled = true;
    while (signalled && !condition.getAsBoolean()) {
      signalled = ended.await(deadline);
    }
  }

  /** Ends the timer and the threads, and disconnects from the store. */
  void stop() {
    timer.close();
    threads.close();
    // No timer retries the events that found no thread.
    notifier.flush();
    store.close();
  }
}
