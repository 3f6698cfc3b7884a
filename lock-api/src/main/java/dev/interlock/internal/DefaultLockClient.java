package dev.interlock.internal;

import static com.google.common.base.Preconditions.checkArgument;
import static java.util.Objects.requireNonNull;

import com.google.common.collect.Streams;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Election;
import dev.interlock.LeaseInfo;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockEvent.GaveUp.Reason;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLock;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import dev.interlock.WaiterInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The client: its leases, its waiters, and the parts that do the work. */
final class DefaultLockClient implements LockClient {

  /** How many requests a client sends at once while it is being closed. */
  private static final int RELEASERS = 16;

  /** With no more names in the local queue than this, those without a head stay there. */
  private static final int KEPT_NAMES = 64;

  static final Logger log = LoggerFactory.getLogger(LockClient.class);

  private final LockOptions options;
  final Platform platform;
  final LockBackend store;
  private final BackendInfo info;
  final Threads threads;
  final Timer timer;
  final Renewer renewer;
  final Cleanup cleanup;
  final Notifier notifier;
  final LeaseLog leaseLog;
  final LocalQueue line = new LocalQueue(KEPT_NAMES);
  final SharedGrants shared = new SharedGrants();
  final ThreadHolds threadHolds = new ThreadHolds();
  final Set<ElectionCandidacy> candidacies = ConcurrentHashMap.newKeySet();
  final LeaderWatches leaderWatches = new LeaderWatches(this);
  final ClaimIds claimIds;
  final CallSites callSites;

  /** For the thread that closes the client: an acquire loop or a lease has ended. */
  private final WakeUp ended;

  private final SleepWatch sleepWatch = new SleepWatch();
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile boolean endsLeases;

  /** How many acquisitions have been reported to listeners. */
  private final AtomicLong acquisitions = new AtomicLong();

  DefaultLockClient(BackendFactory factory, LockOptions options, TimeSource time) {
    this.options = requireNonNull(options, "options");
    this.platform = Platform.on(time);
    this.ended = new WakeUp(platform);
    this.claimIds = new ClaimIds(platform);
    this.callSites = new CallSites(platform);
    this.store = factory.open(new Context());
    this.info = store.info();
    this.threads = new Threads(platform, info.name(), store.maxGrantsPerRenewal() > 1);
    this.renewer = new Renewer(this);
    this.timer = new Timer(platform, info.name() + "-timer", renewer::flush);
    this.notifier = new Notifier(platform, threads.callbacks, threads.deliveries, timer);
    this.leaseLog = new LeaseLog(platform, timer, notifier);
    this.cleanup = new Cleanup(store, platform, timer, threads, leaseLog, options.requestTimeout());
  }

  private final class Context implements BackendContext {
    @Override
    public LockOptions options() {
      return options;
    }

    @Override
    public TimeSource time() {
      return platform;
    }

    @Override
    public void lost(Claim claim, LossReason reason, String detail) {
      DefaultLockClient.this.lost(claim, reason, detail);
    }
  }

  // --- time -----------------------------------------------------------------------------------

  Duration requestTimeout() {
    return options.requestTimeout();
  }

  Deadline requestDeadline() {
    return in(requestTimeout());
  }

  /**
   * Wall clock minus monotonic clock, in nanoseconds: it grows when the machine sleeps. Rounded up,
   * because the wall clock is read in whole milliseconds and its next tick must not look like
   * sleep. So up to two milliseconds of sleep go unnoticed.
   */
  static long clockOffset(long wallMillis, long nanos) {
    return TimeUnit.MILLISECONDS.toNanos(wallMillis + 1) - nanos;
  }

  /** The same, now. */
  long clockOffset() {
    // The wall clock first: a pause between the two readings must not hide as much sleep.
    long wall = platform.wallMillis();
    return clockOffset(wall, platform.nanoTime());
  }

  /**
   * The rest of a validity, in nanoseconds, by whichever clock has advanced further.
   *
   * @param end when it ends by the monotonic clock
   * @param clockOffset {@link #clockOffset} before the request was sent
   */
  long remaining(long end, long clockOffset) {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    return end - now - slept(wall, now, clockOffset);
  }

  /** How long the machine has slept, in nanoseconds, since the clocks had the given offset. */
  static long slept(long wallMillis, long nanos, long clockOffset) {
    return Math.max(0, TimeUnit.MILLISECONDS.toNanos(wallMillis) - nanos - clockOffset);
  }

  /**
   * Checks once a second, while something is held, whether a lease has ended while the machine
   * slept, or has to be renewed after that: the monotonic clock of the timer stood still (LOSS-02,
   * LEASE-07).
   */
  private final class SleepWatch extends Timer.Event {
    private static final long PERIOD = 1_000_000_000;

    private final AtomicBoolean on = new AtomicBoolean();

    void start() {
      if (on.compareAndSet(false, true)) {
        try {
          timer.schedule(this, platform.nanoTime() + PERIOD);
        } catch (Throwable e) {
          on.set(false);
          throw e;
        }
      }
    }

    @Override
    void fire(long now) {
      long wall = platform.wallMillis();
      leases()
          .filter(lease -> lease.mayBeOverdue(wall, now))
          .forEach(lease -> timer.schedule(lease, now));
      on.set(false);
      if (!line.isEmpty() || !shared.isEmpty()) {
        start();
      }
    }
  }

  LockUnavailableException unavailable(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(info.name(), store.endpoint(), problem, cause);
  }

  /** The same for a request about one lock. */
  LockUnavailableException unavailable(String name, String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(name, unavailable(problem, cause));
  }

  static LockUnavailableException of(String name, LockUnavailableException problem) {
    return problem.name().isPresent() ? problem : new LockUnavailableException(name, problem);
  }

  // --- acquiring ------------------------------------------------------------------------------

  Events.Source source(Request request, long token) {
    return new Events.Source(
        request.name(),
        request.share().kind(),
        token,
        request.acquisition().number(acquisitions),
        Instant.ofEpochMilli(platform.wallMillis()),
        request.holder());
  }

  /** Reports to listeners that an acquisition waits; once. */
  void waits(Request request) {
    if (notifier.hasListeners()) {
      Acquisition acquisition = request.acquisition();
      tell(
          () -> {
            synchronized (acquisition) {
              if (acquisition.waits()) {
                notifier.noteAll(new Events.Waiting(source(request, 0), heldBy(request)));
              }
            }
          });
    }
  }

  /** Reports to listeners an attempt after which another one follows. */
  void attemptFailed(Request request, LockException problem) {
    if (notifier.hasListeners()) {
      tell(() -> notifier.noteAll(new Events.AttemptFailed(source(request, 0), problem)));
    }
  }

  /** Reports to listeners that an acquisition ended without a lease; once, and not after one. */
  void gaveUp(Request request, @Nullable Throwable failure, Reason reason) {
    if (notifier.hasListeners()) {
      Acquisition acquisition = request.acquisition();
      Duration waited = Duration.ofNanos(platform.nanoTime() - request.since());
      tell(
          () -> {
            synchronized (acquisition) {
              if (acquisition.ends()) {
                notifier.noteAll(
                    new Events.GaveUp(
                        source(request, 0),
                        reason,
                        waited,
                        Optional.ofNullable(failure),
                        heldBy(request)));
              }
            }
          });
    }
  }

  /** The same, for an acquisition that ended with the given failure. */
  void failed(Request request, Throwable failure) {
    if (failure instanceof LockTimeoutException) {
      gaveUp(request, null, Reason.TIMED_OUT);
    } else if (failure instanceof InterruptedException) {
      gaveUp(request, null, Reason.INTERRUPTED);
    } else {
      gaveUp(request, failure, Reason.FAILED);
    }
  }

  // A failure to report changes nothing for the acquisition.
  private void tell(Runnable note) {
    Timer.survive("an event", note);
    notifier.flush();
  }

  /** The label of the holder, if known without asking the store. */
  private Optional<String> heldBy(Request request) {
    LeaseState ours = line.lease(request.name());
    return Optional.ofNullable(ours == null ? request.heldBy() : ours.holder());
  }

  /** Acquires, waiting until the lock is available or the wait has failed. */
  <R> R acquire(Request request, Function<LeaseState, R> handle) throws InterruptedException {
    R acquired = BlockingAcquisition.run(this, request, handle);
    if (acquired == null) {
      throw endedWithNothing();
    }
    return acquired;
  }

  static IllegalStateException endedWithNothing() {
    return new IllegalStateException("an unlimited acquisition ended with nothing");
  }

  <R> Optional<R> tryAcquire(Request request, Function<LeaseState, R> handle)
      throws InterruptedException {
    return Optional.ofNullable(BlockingAcquisition.run(this, request, handle));
  }

  /** Called by the head of the local queue: acquires the lock from the server, or passes. */
  @Nullable LeaseState contend(Request request) throws InterruptedException {
    LeaseState lease = null;
    try {
      ensureOpen();
      AcquireLoop loop = line.loop(request.name());
      if (loop == null || !loop.resume()) {
        loop = new AcquireLoop(this, request);
        line.begin(loop);
      }
      lease = loop.run(request);
    } catch (LockUnavailableException e) {
      throw of(request.name(), e);
    } finally {
      if (lease == null) {
        pass(request.name());
      } else if (lease.isShared()) {
        passBeside(lease);
      }
    }
    if (lease != null && isClosed()) {
      // The closing client may have released its leases before it knew of this one.
      lease.giveUp(request.forStore(requestTimeout()));
      throw closed();
    }
    return lease == null ? timedOut(request) : lease;
  }

  /**
   * Lets others in beside the head's lease: first waiters behind it that can use its grant, then
   * the next head, which asks the store.
   */
  private void passBeside(LeaseState lease) {
    // From here on only the caller can release the lease, so it has to be returned.
    LocalQueue.Waiter unserved = null;
    try {
      unserved = lease.admitWaiters();
    } catch (Throwable e) {
      Timer.failed("the admission of readers", e);
    }
    try {
      if (unserved == null || !unserved.onHead()) {
        pass(lease.name());
      }
    } catch (Throwable e) {
      Timer.failed("the next head", e);
    }
  }

  /** Asks the store once, beside other threads of this client; null if the name is held. */
  @Nullable LeaseState contendBeside(Request request) throws InterruptedException {
    ensureOpen();
    LeaseState lease;
    try {
      lease = new AcquireLoop(this, request).run(request);
    } catch (LockUnavailableException e) {
      throw of(request.name(), e);
    } finally {
      signalEnd();
    }
    if (lease != null && isClosed()) {
      lease.giveUp(request.forStore(requestTimeout()));
      throw closed();
    }
    return lease;
  }

  /**
   * The outcome of an acquisition that timed out behind another thread of this client.
   *
   * @param answer what the head of the queue knew of the lock
   */
  @Nullable LeaseState timedOutInLine(Request request, LocalQueue.Answer answer) {
    if (answer.kind() == LocalQueue.Answer.Kind.HELD) {
      return timedOut(request);
    }
    throw unavailable(request.name(), "the store could not be asked in time", answer.trouble());
  }

  /** The failure of an acquisition that another thread's outage has ended as well. */
  LockUnavailableException outage(Request request, LockUnavailableException problem) {
    return unavailable(
        request.name(),
        "the store has failed for longer than the outage time-out of " + request.withoutStore(),
        problem);
  }

  /** The failure of an acquisition whose lease was lost before the call could return it. */
  RuntimeException lostBeforeReturn(Request request, LeaseState lease) {
    return isClosed()
        ? closed()
        : unavailable(
            request.name(),
            "the lock was granted, but its lease was lost before the call could return it",
            lease.loss());
  }

  private @Nullable LeaseState timedOut(Request request) {
    if (request.timeoutIsFailure()) {
      throw new LockTimeoutException(
          request.name(),
          Duration.ofNanos(platform.nanoTime() - request.since()),
          heldBy(request).orElse(null));
    }
    return null;
  }

  /**
   * Whether another thread of this client holds the lock, or asks the server for it now. Always
   * false for a share that does not exclude others.
   *
   * @throws LockConfigurationException if the name is in use as something else
   */
  boolean isBusy(String name, Share share, LockOptions wanted, @Nullable Thread owner) {
    ensureOpen();
    boolean busy = line.isBusy(name, share) && share.isWhole();
    if (busy && notifier.hasListeners()) {
      gaveUp(Request.upTo(this, name, share, wanted, owner, Duration.ZERO), null, Reason.TIMED_OUT);
    }
    return busy;
  }

  static Duration checkedTimeout(Duration timeout) {
    requireNonNull(timeout, "timeout");
    checkArgument(!timeout.isNegative(), "the time to wait must not be negative: %s", timeout);
    return timeout;
  }

  interface Question<T> {
    T ask() throws InterruptedException;
  }

  /** Tries without waiting for a holder, and keeps the interrupt status. */
  <T> T uninterrupted(Question<T> question) {
    ensureOpen();
    boolean interrupted = Thread.interrupted();
    try {
      return question.ask();
    } catch (InterruptedException e) {
      interrupted = true;
      throw unavailable("interrupted while asking", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private <T> T ask(String name, Question<T> question) {
    Names.checked(name);
    try {
      return uninterrupted(question);
    } catch (LockUnavailableException e) {
      throw of(name, e);
    }
  }

  /** All leases of this client that have not ended. */
  private Stream<LeaseState> leases() {
    return Stream.concat(line.leases(), shared.leases());
  }

  /** All attempts under way. */
  private Stream<AcquireLoop> loops() {
    return Stream.concat(line.loops(), shared.loops());
  }

  /** Watches over the leases that have begun. */
  void watchSleep() {
    sleepWatch.start();
  }

  /** A lease has ended. */
  void ended(LeaseState lease) {
    timer.cancel(lease);
    signalEnd();
  }

  /** Makes the next waiter the head, when the current head is done. */
  void pass(String name) {
    line.pass(name);
    signalEnd();
  }

  /** Wakes the thread that closes the client, if there is one. */
  void signalEnd() {
    if (closed.get()) {
      ended.signal();
    }
  }

  void lost(Claim claim, LossReason reason, String detail) {
    AcquireLoop loop = line.loop(claim.name());
    if (loop != null) {
      // Its lease may begin just now: either before the loss was recorded here, or after, which
      // sees
      // the loss.
      loop.lost(claim, reason, detail);
    }
    shared.lost(claim, reason, detail);
    LeaseState lease = line.lease(claim.name());
    if (lease != null && lease.grant().claim().isSame(claim)) {
      lease.lose(reason, detail);
    }
  }

  /** Returns how many names and clean-ups the client keeps state for; 0 when it is unused. */
  int residue() {
    return line.size()
        + shared.size()
        + cleanup.pending()
        + candidacies.size()
        + leaderWatches.size();
  }

  // --- leases' own requests, off their callers' threads -----------------------------------------

  /** A request of a lease to the store. */
  interface StoreRequest<T> {
    @Nullable T make(Deadline deadline) throws InterruptedException;
  }

  /**
   * A request on one of the client's threads, within a request time-out from now. It runs whatever
   * happens to the future. If no thread is free in time, or the client is closed, it runs with no
   * time left to ask the store.
   *
   * <p>A release that has begun has to be finished. So this is made before the release begins, and
   * {@link #start} needs no memory.
   */
  final class AsyncRequest<T> implements Runnable {
    private final StoreRequest<T> request;
    private final Deadline deadline = requestDeadline();
    private final Deadline noTime = in(Duration.ZERO);
    private final CompletableFuture<T> future = new CompletableFuture<>();
    private final AtomicBoolean begun = new AtomicBoolean();

    AsyncRequest(StoreRequest<T> request) {
      this.request = request;
    }

    CompletableFuture<T> start() {
      try {
        threads.requests.execute(this);
      } catch (Throwable e) {
        make(noTime);
        Timer.survive("a log", () -> log.debug("no thread for a request of a lease", e));
      }
      return future;
    }

    @Override
    public void run() {
      make(deadline);
    }

    /** The future's dependents are the program's code, which may block: they run elsewhere. */
    private void make(Deadline until) {
      // A pool that threw may have started it nevertheless.
      if (!begun.compareAndSet(false, true)) {
        return;
      }
      try {
        @Nullable T answer = request.make(until);
        notifier.deliver(() -> future.complete(answer));
      } catch (Throwable e) {
        notifier.deliver(() -> future.completeExceptionally(e));
      }
    }
  }

  // --- releasing ------------------------------------------------------------------------------

  /** Releases a grant, or else in the background. */
  ReleaseOutcome releaseOnServer(Grant grant, Deadline deadline) {
    ReleaseOutcome known = deadline.hasPassed() ? null : tryRelease(grant, null, deadline);
    if (known == null || known == ReleaseOutcome.UNKNOWN) {
      cleanup.undo(grant);
      return ReleaseOutcome.UNKNOWN;
    }
    return known;
  }

  /**
   * Asks the server once to release a grant.
   *
   * @param delay when the server is to release it by itself; null for now
   * @return null if the request was not sent
   */
  @Nullable ReleaseOutcome tryRelease(Grant grant, @Nullable Duration delay, Deadline deadline) {
    // An interrupted thread must still be able to release; the interrupt status is restored later.
    boolean interrupted = Thread.interrupted();
    try {
      boolean wasThere =
          delay == null
              ? store.release(grant.claim(), deadline)
              : store.releaseAfter(grant.claim(), delay, deadline);
      cleanup.forget(grant.claim());
      if (!wasThere) {
        return ReleaseOutcome.ALREADY_LOST;
      }
      return delay == null ? ReleaseOutcome.RELEASED : ReleaseOutcome.DEFERRED;
    } catch (LockException e) {
      log.debug("{} was not confirmed to be released", grant.claim(), e);
      if (e instanceof LockUnavailableException problem && !problem.isInDoubt()) {
        return null;
      }
    } catch (InterruptedException e) {
      interrupted = true;
    } catch (Throwable e) {
      // Not even a lack of stack or memory may prevent the release.
      log.error("the backend failed to release {}", grant.claim(), e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    return ReleaseOutcome.UNKNOWN;
  }

  // --- the client's own methods ---------------------------------------------------------------

  @Override
  public LockOptions options() {
    return options;
  }

  @Override
  public DistributedLock lock(String name) {
    ensureOpen();
    return new LockHandle(this, Names.checked(name), Share.EXCLUSIVE, options);
  }

  @Override
  public DistributedLock lock(String name, Consumer<? super LockOptions.Builder> change) {
    ensureOpen();
    return new LockHandle(this, Names.checked(name), Share.EXCLUSIVE, changed(change));
  }

  @Override
  public DistributedReadWriteLock readWriteLock(String name) {
    ensureOpen();
    require(Capability.READ_WRITE, "read-write locks");
    return new ReadWriteLockHandle(this, Names.checked(name), options);
  }

  @Override
  public DistributedReadWriteLock readWriteLock(
      String name, Consumer<? super LockOptions.Builder> change) {
    ensureOpen();
    require(Capability.READ_WRITE, "read-write locks");
    return new ReadWriteLockHandle(this, Names.checked(name), changed(change));
  }

  @Override
  public DistributedSemaphore semaphore(String name, int limit) {
    ensureOpen();
    require(Capability.SEMAPHORE, "semaphores");
    return new SemaphoreHandle(this, Names.checked(name), limit, options);
  }

  @Override
  public DistributedSemaphore semaphore(
      String name, int limit, Consumer<? super LockOptions.Builder> change) {
    ensureOpen();
    require(Capability.SEMAPHORE, "semaphores");
    return new SemaphoreHandle(this, Names.checked(name), limit, changed(change));
  }

  private void require(Capability capability, String what) {
    if (!info.has(capability)) {
      throw new UnsupportedOperationException(
          "the backend " + info.name() + " has no " + what + "; see LockClient.capabilities()");
    }
  }

  @Override
  public Election election(String name) {
    return new ElectionHandle(this, lock(name), options);
  }

  @Override
  public Election election(String name, Consumer<? super LockOptions.Builder> change) {
    ensureOpen();
    LockOptions changed = changed(change);
    return new ElectionHandle(
        this, new LockHandle(this, Names.checked(name), Share.EXCLUSIVE, changed), changed);
  }

  @Override
  public MultiLock lockAll(Collection<String> names) {
    ensureOpen();
    return new MultiLockHandle(this, Names.checkedSet(names), options);
  }

  @Override
  public MultiLock lockAll(Collection<String> names, Consumer<? super LockOptions.Builder> change) {
    ensureOpen();
    return new MultiLockHandle(this, Names.checkedSet(names), changed(change));
  }

  private LockOptions changed(Consumer<? super LockOptions.Builder> change) {
    LockOptions.Builder builder = options.toBuilder();
    requireNonNull(change, "change").accept(builder);
    LockOptions changed = builder.build();
    checkArgument(
        changed.requestTimeout().equals(requestTimeout()),
        "requestTimeout can only be set for a whole client, where it is %s; one lock cannot have"
            + " %s",
        requestTimeout(),
        changed.requestTimeout());
    checkArgument(
        changed.openTimeout().equals(options.openTimeout()),
        "openTimeout can only be set for a whole client");
    return changed;
  }

  @Override
  public LockState inspect(String name) {
    return ask(name, () -> inspectNow(name));
  }

  LockState inspectNow(String name) throws InterruptedException {
    return withLeaseToken(store.inspect(name, requestDeadline()));
  }

  /** The store's token is the grant's; the lease's is what users see. */
  static LockState withLeaseToken(LockState state) {
    return state.withHolders(
        holder ->
            holder.fencingToken().isEmpty()
                ? holder
                : holder.withFencingToken(
                    holder.fencingToken().getAsLong() * Grant.LEASES_PER_GRANT));
  }

  @Override
  public Stream<LockState> list(String prefix) {
    Names.checkedPrefix(prefix);
    ensureOpen();
    if (!info.has(Capability.LIST)) {
      throw new UnsupportedOperationException(info.name() + " cannot list locks");
    }
    return Streams.stream(new Listing(this, prefix));
  }

  @Override
  public boolean forceRelease(String name) {
    return ask(name, () -> store.forceRelease(name, requestDeadline()));
  }

  @Override
  public boolean revoke(String name) {
    return ask(name, () -> store.revoke(name, requestDeadline()));
  }

  @Override
  public BackendInfo backend() {
    return info;
  }

  @Override
  public String endpoint() {
    return store.endpoint();
  }

  @Override
  public Subscription onEvent(Consumer<? super LockEvent> listener) {
    ensureOpen();
    return notifier.add(requireNonNull(listener, "listener"));
  }

  @Override
  public List<LeaseInfo> held() {
    return leases()
        .map(LeaseState::info)
        .filter(Objects::nonNull)
        .sorted(Comparator.comparing(LeaseInfo::name))
        .toList();
  }

  @Override
  public List<WaiterInfo> waiting() {
    long now = platform.nanoTime();
    return line.waitingRequests()
        .<WaiterInfo>map(
            request ->
                new Waiter(
                    request.name(),
                    request.share().kind(),
                    Duration.ofNanos(Math.max(0, now - request.since())),
                    request.holder()))
        .sorted(Comparator.comparing(WaiterInfo::name))
        .toList();
  }

  private record Waiter(String name, LockKind kind, Duration waited, String holder)
      implements WaiterInfo {}

  @Override
  public String toString() {
    return "LockClient[" + info.name() + " at " + store.endpoint() + "]";
  }

  // --- closing --------------------------------------------------------------------------------

  boolean isClosed() {
    return closed.get();
  }

  /** Whether it is closed and no longer waits for leases that are held. */
  boolean endsLeases() {
    return endsLeases;
  }

  IllegalStateException closed() {
    return new IllegalStateException(
        "the lock client for " + info.name() + " at " + store.endpoint() + " is closed");
  }

  void ensureOpen() {
    if (closed.get()) {
      throw closed();
    }
  }

  /** Removes a waiter that entered the queue while the client was being closed. */
  void ensureLineServed(LocalQueue.Waiter waiter) {
    if (closed.get() && line.leave(waiter.request().name(), waiter)) {
      waiter.onClose();
    }
  }

  @Override
  public void close() {
    close(Duration.ZERO);
  }

  @Override
  public void close(Duration drain) {
    checkArgument(!drain.isNegative(), "the time to wait must not be negative, was %s", drain);
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    boolean interrupted = Thread.interrupted();
    try {
      Deadline drained = in(drain);
      Deadline loopsEnded = requestDeadline();
      candidacies.forEach(ElectionCandidacy::withdraw);
      leaderWatches.close();
      line.drain().forEach(LocalQueue.Waiter::onClose);
      loops().forEach(AcquireLoop::stop);
      while (isInterruptedWhileEnding(this::endingFirst, loopsEnded)) {
        interrupted = true;
      }
      Duration left = requestTimeout().plus(loopsEnded.remaining());
      interrupted = interrupted || isInterruptedWhileEnding(this::leases, drained);
      Deadline deadline = in(left);
      endsLeases = true;
      endLeases(deadline);
      // Its own loss interrupts work of a leader that closes the client.
      interrupted |= Thread.interrupted();
      interrupted |= isInterruptedWhileEnding(this::endingLast, deadline);
      if (leases().findAny().isPresent() || deadline.hasPassed()) {
        log.warn("closed before all leases were released; the rest end with their TTLs");
      }
      otherCandidacies()
          .forEach(other -> log.warn("closed while the work of {} is still in progress", other));
      cleanup.finish(deadline);
      leaseLog.count();
    } finally {
      timer.close();
      threads.close();
      // Events that found no thread have no timer to retry them.
      notifier.flush();
      try {
        store.close();
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  private Deadline in(Duration duration) {
    return Deadline.in(platform, duration);
  }

  /** These end soon after the client is closed, if the work of candidates heeds its interrupt. */
  private Stream<?> endingFirst() {
    return Stream.concat(loops(), otherCandidacies());
  }

  private Stream<?> endingLast() {
    return Stream.concat(leases(), otherCandidacies());
  }

  /** Those whose work is not what called this, so that it can end. */
  private Stream<ElectionCandidacy> otherCandidacies() {
    Thread caller = Thread.currentThread();
    return candidacies.stream().filter(candidacy -> !candidacy.isOwn(caller));
  }

  /** Waits until none is left. What begins after the client is closed ends at once. */
  private boolean isInterruptedWhileEnding(Supplier<Stream<?>> those, Deadline deadline) {
    try {
      boolean signalled = true;
      while (signalled && those.get().findAny().isPresent()) {
        signalled = ended.await(deadline);
      }
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** Reports the loss to all holders first, and then releases their locks. */
  private void endLeases(Deadline deadline) {
    Queue<Grant> open = new ConcurrentLinkedQueue<>();
    leases().filter(LeaseState::loseToClose).forEach(lease -> open.add(lease.grant()));
    List<CompletableFuture<@Nullable Void>> ends = new ArrayList<>();
    for (int i = 1; i < Math.min(RELEASERS, open.size()); i++) {
      try {
        ends.add(CompletableFuture.runAsync(() -> releaseAll(open, deadline), threads.cleanup));
      } catch (Throwable e) {
        log.debug("closing with fewer threads", e);
      }
    }
    releaseAll(open, deadline);
    CompletableFuture<?> all = CompletableFuture.allOf(ends.toArray(new CompletableFuture<?>[0]));
    var unused = Awaiting.doneUninterruptibly(platform, all, deadline);
  }

  private void releaseAll(Queue<Grant> open, Deadline deadline) {
    Grant grant;
    while ((grant = open.poll()) != null) {
      var unused = releaseOnServer(grant, deadline.orIn(requestTimeout()));
    }
  }
}
