package dev.interlock.internal;

import static dev.interlock.internal.Arguments.checkArgument;
import static java.util.Objects.requireNonNull;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.LeaderElection;
import dev.interlock.LeaseInfo;
import dev.interlock.LockAdmin;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.MultiLock;
import dev.interlock.Registration;
import dev.interlock.WaiterInfo;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The implementation of the client: it checks arguments and makes the handles. */
final class DefaultLockClient implements LockClient {

  final Holdings holdings;
  final Engine engine;
  final Acquirer acquirer;
  private final LeaderWatches leaderWatches;
  private final Set<ElectionCandidacy> candidacies = ConcurrentHashMap.newKeySet();

  DefaultLockClient(BackendFactory factory, LockOptions options, TimeSource time) {
    this.holdings = new Holdings(factory, options, time);
    this.engine = holdings.engine;
    this.acquirer = new Acquirer(holdings);
    this.leaderWatches = new LeaderWatches(engine);
  }

  /**
   * Returns the number of names, undoings, candidacies and observed elections that the client keeps
   * state for.
   */
  int residue() {
    return holdings.size() + engine.cleanup.pending() + candidacies.size() + leaderWatches.size();
  }

  @Override
  public LockOptions options() {
    return engine.options;
  }

  @Override
  public LockHandle lock(String name) {
    engine.ensureOpen();
    return new LockHandle(acquirer, Names.checked(name), Share.EXCLUSIVE, engine.options);
  }

  @Override
  public LockHandle lock(String name, Consumer<? super LockOptions.Builder> change) {
    engine.ensureOpen();
    return new LockHandle(acquirer, Names.checked(name), Share.EXCLUSIVE, changedOptions(change));
  }

  @Override
  public DistributedReadWriteLock readWriteLock(
      String name, Consumer<? super LockOptions.Builder> change) {
    engine.require(Capability.READ_WRITE, "read-write locks");
    return new ReadWriteLockHandle(acquirer, Names.checked(name), changedOptions(change));
  }

  @Override
  public DistributedSemaphore semaphore(
      String name, int limit, Consumer<? super LockOptions.Builder> change) {
    engine.require(Capability.SEMAPHORE, "semaphores");
    checkArgument(limit >= 1, "a semaphore needs a limit of at least 1 permit, not %s", limit);
    return new SemaphoreHandle(acquirer, Names.checked(name), limit, changedOptions(change));
  }

  @Override
  public MultiLock multiLock(
      Collection<String> names, Consumer<? super LockOptions.Builder> change) {
    engine.ensureOpen();
    return new MultiLockHandle(acquirer, Names.checkedSet(names), changedOptions(change));
  }

  @Override
  public LeaderElection election(String name, Consumer<? super LockOptions.Builder> change) {
    LockHandle lock = lock(name, change);
    return new ElectionHandle(this, lock, lock.options);
  }

  LeaderElection.Candidacy run(String name, LockOptions options, LeaderElection.LeaderWork work) {
    engine.ensureOpen();
    return ElectionCandidacy.start(candidacies, acquirer, name, options, work);
  }

  Registration observe(
      String name,
      LockOptions options,
      Consumer<? super Optional<LeaderElection.Leader>> listener) {
    engine.ensureOpen();
    return leaderWatches.observe(name, options.pollInterval(), listener);
  }

  private LockOptions changedOptions(Consumer<? super LockOptions.Builder> change) {
    LockOptions.Builder builder = engine.options.toBuilder();
    requireNonNull(change, "change").accept(builder);
    LockOptions changed = builder.build();
    checkArgument(
        changed.requestTimeout().equals(engine.requestTimeout()),
        "requestTimeout can only be set for the whole client, where it is %s; a single lock"
            + " cannot have %s",
        engine.requestTimeout(),
        changed.requestTimeout());
    checkArgument(
        changed.openTimeout().equals(engine.options.openTimeout()),
        "openTimeout can only be set for the whole client");
    return changed;
  }

  @Override
  public LockAdmin admin() {
    return new Admin(engine);
  }

  @Override
  public BackendInfo backend() {
    return engine.backend;
  }

  @Override
  public String endpoint() {
    return engine.store.endpoint();
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    engine.ensureOpen();
    return engine.notifier.add(requireNonNull(listener, "listener"));
  }

  @Override
  public List<LeaseInfo> leases() {
    return holdings
        .grants()
        .flatMap(grant -> grant.leases().stream())
        .filter(lease -> lease.isLive() && !lease.hasLapsed())
        .<LeaseInfo>map(HeldLease::new)
        .sorted(Comparator.comparing(LeaseInfo::name))
        .toList();
  }

  @Override
  public List<WaiterInfo> waiters() {
    long now = engine.platform.nanoTime();
    return holdings
        .queues
        .waitingRequests()
        .<WaiterInfo>map(
            request ->
                new Waiter(
                    request.name(),
                    request.share().kind(),
                    Duration.ofNanos(Math.max(0, now - request.startedAt())),
                    request.label()))
        .sorted(Comparator.comparing(WaiterInfo::name))
        .toList();
  }

  private record HeldLease(
      String name,
      LockKind kind,
      OptionalLong fencingToken,
      Duration remainingValidity,
      Instant heldSince,
      Duration heldFor,
      String label)
      implements LeaseInfo {

    HeldLease(LeaseState lease) {
      this(
          lease.name(),
          lease.request().share().kind(),
          lease.token() == 0 ? OptionalLong.empty() : OptionalLong.of(lease.token()),
          lease.remaining(),
          lease.heldSince(),
          lease.heldFor(),
          lease.request().label());
    }
  }

  private record Waiter(String name, LockKind kind, Duration waited, String label)
      implements WaiterInfo {}

  @Override
  public String toString() {
    return "LockClient[" + engine.backend.name() + " at " + engine.store.endpoint() + "]";
  }

  @Override
  public void close(Duration drain) {
    checkArgument(!drain.isNegative(), "the time to wait must not be negative: %s", drain);
    if (engine.beginToClose()) {
      new Shutdown(holdings, candidacies, leaderWatches).run(drain);
    }
  }
}
