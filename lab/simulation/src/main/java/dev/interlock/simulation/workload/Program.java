package dev.interlock.simulation.workload;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LeasedLock;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.model.TtlServer;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.oracle.ObservedLease;
import dev.interlock.simulation.workload.Plan.Ending;
import dev.interlock.simulation.workload.Plan.Kind;
import dev.interlock.simulation.workload.Plan.Op;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A thread of a client, which performs its operations in order. */
public final class Program implements Runnable {

  private static final long MS = 1_000_000;
  private static final long MIN_REQUEST_TIME = 250 * MS;
  private static final int CROWD_SIZE = 20;

  /** The number of permits that may overtake a head: eight, and some before its first request. */
  private static final int MAX_OVERTAKINGS = 16;

  private final ProgramContext world;
  private final Plan.Setting setting;
  private final Journal journal;
  private final Machine machine;
  private final Clients clients;
  private final List<Op> ops;
  private @Nullable Op current;
  private String label = "";
  private int opNumber;
  private boolean isInterruptible;
  private boolean hasTokens;
  private boolean storeDefersReleases;
  private boolean done;

  /** Supplies the current client of a machine. */
  public interface Clients {
    /** Waits until there is a client. */
    LockClient current() throws InterruptedException;

    boolean isOpen(LockClient client);
  }

  public Program(ProgramContext world, Machine machine, Clients clients, List<Op> ops) {
    this.world = world;
    this.setting = world.plan().setting();
    this.journal = world.journal();
    this.machine = machine;
    this.clients = clients;
    this.ops = ops;
  }

  public boolean isDone() {
    return done;
  }

  public @Nullable Op current() {
    return current;
  }

  /** {@return the number of the current interruptible wait; 0 if there is none} */
  public int waiting() {
    return isInterruptible ? opNumber : 0;
  }

  @Override
  public void run() {
    for (Op op : ops) {
      current = op;
      label = who() + "#" + ++opNumber;
      try {
        LockClient client = clients.current();
        journal.note(machine, who() + ": " + op);
        hasTokens = client.backend().has(Capability.FENCING);
        storeDefersReleases = client.backend().has(Capability.DEFERRED_RELEASE);
        Kind kind = op.kind().basicKind();
        isInterruptible = (kind == Kind.ACQUIRE || kind == Kind.TIMED) && !op.kind().isView();
        try {
          perform(op, client);
        } finally {
          isInterruptible = false;
          journal.requestCheck.recordEnd(label);
        }
        machine.pause(op.pause());
      } catch (InterruptedException e) {
        journal.note(machine, who() + " interrupted");
      } catch (LockException e) {
        journal.note(machine, who() + ": " + e);
        if (e instanceof LockConfigurationException) {
          world.checkRefusal(op, e);
        } else {
          world.checkUnavailability(op, e);
        }
      } catch (IllegalStateException e) {
        if (!String.valueOf(e.getMessage()).contains("is closed")) {
          throw e;
        }
      } catch (OutOfMemoryError e) {
        if (!machine.ranOutOfThreads()) {
          throw e;
        }
      }
    }
    current = null;
    done = true;
  }

  /** {@return the options of an operation; null if it uses those of the client} */
  private @Nullable Consumer<LockOptions.Builder> change(Op op) {
    return op.options() == Plan.LeaseOptions.DEFAULT ? null : options -> change(options, op);
  }

  private void change(LockOptions.Builder builder, Op op) {
    journal.requestCheck.recordStart(label, latest(op), minRequestTime(op));
    builder.label(label).minHold(null).maxHold(null);
    switch (op.options()) {
      case RENEWED -> {}
      case NOT_RENEWED -> builder.autoRenew(false);
      case SHORT_TTL -> builder.autoRenew(false).ttl(Duration.ofNanos(setting.ttl() / 4));
      case MAX_HOLD -> builder.maxHold(Duration.ofNanos(maxHold(op)));
      case MIN_HOLD -> builder.minHold(Duration.ofNanos(minHold(op)));
      case WAIT_TIMEOUT -> builder.waitTimeout(Duration.ofNanos(Math.max(MS, op.timeout())));
      case DEFAULT -> throw new IllegalArgumentException("the operation has no options");
    }
  }

  private static String who() {
    return Thread.currentThread().getName();
  }

  private long maxHold(Op op) {
    return switch (op.options()) {
      case MAX_HOLD -> setting.ttl() / 2 + op.hold() / 2;
      case DEFAULT -> setting.maxHold();
      default -> 0;
    };
  }

  private long minHold(Op op) {
    return op.options() == Plan.LeaseOptions.MIN_HOLD ? setting.ttl() / 2 + op.hold() / 2 : 0;
  }

  /** {@return the latest end of an acquisition's last request, which gets a quarter second} */
  private long latest(Op op) {
    return switch (op.kind().basicKind()) {
      case TRY -> machine.monotonic() + setting.requestTimeout();
      case TIMED, ASYNC_TIMED -> machine.monotonic() + op.timeout() + MIN_REQUEST_TIME;
      default ->
          op.options() == Plan.LeaseOptions.WAIT_TIMEOUT
              ? machine.monotonic() + Math.max(MS, op.timeout()) + MIN_REQUEST_TIME
              : Journal.NEVER;
    };
  }

  /**
   * {@return the minimum time for each request of an acquisition, unless less is left} Requests of
   * an acquisition without a time limit may have only the rest of its outage time-out.
   */
  private long minRequestTime(Op op) {
    return op.kind().basicKind() == Kind.TRY
        ? setting.requestTimeout()
        : Math.min(setting.requestTimeout(), MIN_REQUEST_TIME);
  }

  private void perform(Op op, LockClient client) throws InterruptedException {
    String name = Plan.name(op.name());
    switch (op.kind()) {
      case ACQUIRE, TRY, TIMED, ASYNC, ASYNC_TIMED -> acquireAndUse(op, acquirable(op, client));
      case CAMPAIGN, CAMPAIGN_TIMED, CAMPAIGN_ASYNC ->
          acquireAndUse(op, new Campaign(election(op, client)));
      case STAND ->
          new Candidate(
                  world, machine, op, label, maxHold(op), this::hold, () -> clients.isOpen(client))
              .stand(election(op, client));
      case OBSERVE -> observe(op, client);
      case VIEW, VIEW_TRY, VIEW_TIMED -> view(op, client);
      case SET, SET_TRY, SET_TIMED, SET_ASYNC, SET_ASYNC_TIMED -> {
        List<String> names = setting.namesOfLocks();
        Consumer<LockOptions.Builder> change = change(op);
        acquireAndUse(
            op, change == null ? client.multiLock(names) : client.multiLock(names, change));
      }
      case CROWD -> crowd(op, client);
      case INSPECT -> {
        long from = world.now();
        LockState state = client.admin().inspect(name);
        if (!setting.outside()) {
          journal.holderCheck.checkInspection(state, from, world.isTokenOfStore());
        }
        requireInTime("WAIT-01", "inspect()", from, setting.requestTimeout());
      }
      case REVOKE -> {
        if (world.plan().store() != Plan.Store.QUEUE) {
          journal.recordRevocation(name);
          var unused = client.admin().revoke(name);
        }
      }
      case FORCE -> {
        long from = world.now();
        if (client.admin().forceRelease(name)) {
          journal.holderCheck.recordForcedRelease(
              name, from, Math.max(setting.ttl(), setting.sessionTimeout()));
        }
      }
    }
  }

  private Acquirable<Lease> acquirable(Op op, LockClient client) {
    Share share = op.share();
    if (share.kind() != LockKind.SEMAPHORE) {
      return lock(op, client);
    }
    String name = Plan.name(op.name());
    Consumer<LockOptions.Builder> change = change(op);
    DistributedSemaphore semaphore =
        change == null
            ? client.semaphore(name, share.capacity())
            : client.semaphore(name, share.capacity(), change);
    if (op.misuse()) {
      requireRefused(semaphore, 0);
      requireRefused(semaphore, share.capacity() + 1);
    }
    return share.weight() == 1 && !op.misuse() ? semaphore : semaphore.permits(share.weight());
  }

  private void requireRefused(DistributedSemaphore semaphore, int permits) {
    try {
      Acquirable<Lease> impossible = semaphore.permits(permits);
      world.fail("SEM-08", label + ": accepted " + permits + " permits: " + impossible);
    } catch (IllegalArgumentException e) {
      journal.note(machine, who() + ": " + e.getMessage());
    }
  }

  private DistributedLock lock(Op op, LockClient client) {
    String name = Plan.name(op.name());
    Consumer<LockOptions.Builder> change = change(op);
    if (op.share().isExclusive()) {
      return change == null ? client.lock(name) : client.lock(name, change);
    }
    DistributedReadWriteLock both =
        change == null ? client.readWriteLock(name) : client.readWriteLock(name, change);
    return op.share().isWhole() ? both.writeLock() : both.readLock();
  }

  private LeaderElection election(Op op, LockClient client) {
    String name = Plan.name(op.name());
    Consumer<LockOptions.Builder> change = change(op);
    return change == null ? client.election(name) : client.election(name, change);
  }

  /** Presents the campaigns of an election as acquisitions. */
  private record Campaign(LeaderElection election) implements Acquirable<Lease> {
    @Override
    public Lease acquire() throws InterruptedException {
      return election.campaign();
    }

    @Override
    public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
      return election.tryCampaign(timeout);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
      return election.campaignAsync();
    }

    @Override
    public Optional<Lease> tryAcquire() {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
      throw new UnsupportedOperationException();
    }
  }

  private void observe(Op op, LockClient client) throws InterruptedException {
    Observer observer = new Observer(world, machine, Plan.name(op.name()), op.listener());
    long from = world.now();
    observer.begin(client);
    try {
      machine.pause(op.timeout());
      if (!observer.hasBeenCalled()
          && world.isStoreAvailable()
          && clients.isOpen(client)
          && machine.lateness(from, world.now()) > margin() + machine.tolerance()) {
        world.fail("ELECT-03", "a listener did not learn the initial state: " + observer);
      }
    } finally {
      observer.close();
    }
  }

  /** {@return the longest time for a few requests without faults} */
  private long margin() {
    return 50 * MS + 50 * setting.delay();
  }

  private void requireInTime(String rule, String what, long from, long bound) {
    machine.requireInTime(rule, who() + ": " + what, from, bound);
  }

  /** Fails if a timed attempt ended before its time was over. */
  private void requireLasted(String what, long from, long timeout) {
    long elapsed = world.now() - from;
    if (elapsed + MS < machine.trueNanos(timeout)) {
      world.fail(
          "WAIT-02",
          who() + ": " + what + " returned after " + elapsed / MS + " of " + timeout / MS + " ms");
    }
  }

  // --- leases ---------------------------------------------------------------------------------

  private <L extends Lease> void acquireAndUse(Op op, Acquirable<L> lock)
      throws InterruptedException {
    long from = world.now();
    long clock = machine.monotonic();
    String name = Plan.name(op.name());
    // A set has to release its members if it fails.
    long releaseTime = op.kind().isOfSet() ? setting.requestTimeout() : 0;
    // A request gets a quarter of a second even if less time is left.
    long extraTime = MIN_REQUEST_TIME + releaseTime;
    L lease = null;
    switch (op.kind().basicKind()) {
      case ACQUIRE -> {
        recordWait(op, Journal.NEVER);
        try {
          lease = lock.acquire();
        } catch (LockException e) {
          checkFailure(op, from, clock, e);
          throw e;
        } finally {
          recordEndOfWait(op);
          if (op.options() == Plan.LeaseOptions.WAIT_TIMEOUT) {
            requireInTime("WAIT-02", "acquire()", from, op.timeout() + extraTime + renewalTime());
          }
        }
      }
      case TRY -> {
        try {
          lease = lock.tryAcquire().orElse(null);
          if (lease == null) {
            requireReason(op, clock);
          }
        } finally {
          requireInTime(
              "WAIT-01",
              "tryAcquire()",
              from,
              setting.requestTimeout() + releaseTime + renewalTime());
          if (journal.requestCheck.renewals(label) > 1) {
            world.fail("requests", label + ": a set was renewed more than once before its grant");
          }
        }
      }
      case TIMED -> {
        recordWait(op, machine.monotonic() + op.timeout());
        try {
          lease = lock.tryAcquire(Duration.ofNanos(op.timeout())).orElse(null);
          if (lease == null) {
            requireLasted("tryAcquire(t)", from, op.timeout());
            requireReason(op, clock);
          }
        } catch (LockUnavailableException e) {
          requireLasted("tryAcquire(t)", from, op.timeout());
          throw e;
        } finally {
          recordEndOfWait(op);
          requireInTime("WAIT-02", "tryAcquire(t)", from, op.timeout() + extraTime + renewalTime());
        }
      }
      case ASYNC -> {
        try {
          lease = future(op, lock.acquireAsync());
        } catch (LockException e) {
          checkFailure(op, from, clock, e);
          throw e;
        }
      }
      default -> {
        Optional<L> result = future(op, lock.tryAcquireAsync(Duration.ofNanos(op.timeout())));
        long shortage = machine.threadShortage(from, world.now());
        requireInTime(
            "WAIT-02",
            "tryAcquireAsync(t)",
            from,
            op.timeout() + extraTime + releaseTime + shortage);
        lease = result == null ? null : result.orElse(null);
        if (result != null && lease == null) {
          requireReason(op, clock);
        }
      }
    }
    isInterruptible = false;
    journal.requestCheck.recordEnd(label);
    if (lease == null && setting.queueing() && world.plan().faults().isEmpty()) {
      journal.holderCheck.requireHolder(machine, name, from);
    }
    if (lease != null) {
      use(op, lock, lease, from);
    }
  }

  private List<String> names(Op op) {
    return op.kind().isOfSet() ? setting.namesOfLocks() : List.of(Plan.name(op.name()));
  }

  /**
   * Fails if an attempt ended without a lease and without a reason.
   *
   * @param clock the beginning of the attempt, by the machine's clock
   */
  private void requireReason(Op op, long clock) {
    if (world.isOnModel()) {
      Share share = op.kind().isOfSet() ? Share.EXCLUSIVE : op.share();
      journal.emptyAnswerCheck.requireReason(machine, names(op), share, clock);
    }
  }

  /**
   * Checks the reason for a time-out, or how long a call without a time limit endured an outage.
   */
  private void checkFailure(Op op, long from, long clock, @Nullable Throwable failure) {
    boolean mayTimeOut =
        op.options() == Plan.LeaseOptions.WAIT_TIMEOUT
            || op.kind().basicKind() == Kind.TRY
            || op.kind().basicKind() == Kind.TIMED;
    if (failure instanceof LockTimeoutException) {
      requireReason(op, clock);
    } else if (failure instanceof LockUnavailableException
        && !mayTimeOut
        && world.isOnModel()
        // An interrupt makes lock() enter the queue again, perhaps as the first to see the outage.
        && !Thread.currentThread().isInterrupted()) {
      long timeout =
          op.options() == Plan.LeaseOptions.SHORT_TTL ? setting.ttl() / 4 : setting.ttl();
      boolean blocking = op.kind().basicKind() == Kind.ACQUIRE;
      journal.outageCheck.requireNotEarly(machine, names(op), from, timeout, blocking, failure);
      // Only an acquisition of a set may wait for a thread before it is in a queue.
      if (!op.kind().isOfSet() || !op.kind().isAsync() || setting.virtualThreads()) {
        journal.outageCheck.requireNotLate(machine, names(op), from, timeout, failure);
      }
    }
  }

  // Sets are left out, because they wait for one name after the other.
  private void recordWait(Op op, long until) {
    if (!op.kind().isOfSet()) {
      journal.fairnessCheck.recordWait(machine, Plan.name(op.name()), op.share(), until);
    }
  }

  private void recordEndOfWait(Op op) {
    if (!op.kind().isOfSet()) {
      journal.fairnessCheck.recordEndOfWait(machine, Plan.name(op.name()));
    }
  }

  /** A future of a lease, and that of its record in the journal. */
  private record Pending(
      CompletableFuture<Lease> lease, CompletableFuture<ObservedLease> observed) {}

  /** Requests more leases of one name at once than the client has threads; all must be served. */
  private void crowd(Op op, LockClient client) throws InterruptedException {
    Acquirable<Lease> lock = acquirable(op, client);
    WakeUp wakeUp = new WakeUp(machine);
    List<Pending> all = new ArrayList<>();
    long from = world.now();
    long clock = machine.monotonic();
    try {
      for (int i = 0; i < CROWD_SIZE; i++) {
        CompletableFuture<Lease> lease = lock.acquireAsync();
        // Recorded at once, because the lease may be lost before the loop below reaches it.
        CompletableFuture<ObservedLease> observed =
            lease.thenApply(
                one -> {
                  ObservedLease granted = recordGrant(op, one, from);
                  granted.addListeners(one, 0);
                  return granted;
                });
        var unused =
            observed.whenComplete(
                (value, failure) -> {
                  if (failure != null) {
                    checkFailure(op, from, clock, failure.getCause());
                  }
                  wakeUp.signal();
                });
        all.add(new Pending(lease, observed));
      }
      while (!all.isEmpty()) {
        List<Pending> done = all.stream().filter(one -> one.observed().isDone()).toList();
        if (done.isEmpty()) {
          wakeUp.await(Deadline.never(machine));
        }
        all.removeAll(done);
        done.forEach(one -> release(one, op.hold() / 50));
      }
    } finally {
      for (Pending one : all) {
        var unused = one.lease().cancel(true);
        release(one, 0);
      }
    }
  }

  private void release(Pending one, long after) {
    if (!one.observed().isCompletedExceptionally()) {
      machine.block(after);
      release(one.lease().join(), List.of(one.observed().join()));
    }
  }

  private ObservedLease recordGrant(Op op, Lease lease, long requestedAt) {
    return journal.recordGrant(
        machine, lease.name(), op.share(), lease.fencingToken(), requestedAt, lease);
  }

  /** {@return the longest time that the renewal of a set may have taken before its grant} */
  private long renewalTime() {
    return journal.requestCheck.renewals(label) > 0 ? setting.requestTimeout() : 0;
  }

  /** Waits for a future, or ends it as the operation says; returns null if it was ended. */
  private <R> @Nullable R future(Op op, CompletableFuture<R> future) throws InterruptedException {
    boolean endsEarly = op.treatment() != Plan.Treatment.AWAIT;
    try {
      if (!isDone(future, endsEarly ? Duration.ofNanos(op.timeout() / 2) : null)) {
        switch (op.treatment()) {
          case AWAIT -> throw new IllegalStateException("AWAIT does not end the future");
          case CANCEL -> future.cancel(true);
          case TIME_OUT -> future.completeExceptionally(new TimeoutException("orTimeout"));
          case COMPLETE -> future.complete(null);
          case FAIL ->
              future.completeExceptionally(new IllegalArgumentException("failed by the program"));
        }
        journal.requestCheck.recordEnd(label);
      }
      return future.join();
    } catch (InterruptedException e) {
      // The program has stopped waiting; a lease that still arrives is released.
      var ignored = future.cancel(true);
      if (!future.isCancelled() && !future.isCompletedExceptionally()) {
        closeLease(future.join());
      }
      throw e;
    } catch (CancellationException e) {
      return null;
    } catch (CompletionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof TimeoutException || cause instanceof IllegalArgumentException) {
        return null;
      }
      if (cause instanceof RuntimeException runtime) {
        throw runtime;
      }
      if (cause instanceof Error error) {
        throw error;
      }
      throw new IllegalStateException("an unexpected end: " + cause, cause);
    }
  }

  private static void closeLease(@Nullable Object result) {
    Object lease = result instanceof Optional<?> optional ? optional.orElse(null) : result;
    if (lease instanceof Lease observed) {
      observed.close();
    }
  }

  private void use(Op op, Acquirable<?> lock, Lease lease, long requestedAt)
      throws InterruptedException {
    List<ObservedLease> observed = new ArrayList<>();
    if (lease instanceof MultiLease set) {
      requireNoToken(set);
      for (String name : set.names()) {
        long token = set.fencingToken(name);
        observed.add(
            journal.recordGrant(machine, name, Share.EXCLUSIVE, token, requestedAt, lease));
      }
    } else {
      observed.add(recordGrant(op, lease, requestedAt));
    }
    if (setting.queueing()) {
      journal.fairnessCheck.checkFairness(observed.get(0), margin());
    } else if (setting.checksPrecedence()) {
      journal.fairnessCheck.checkPrecedence(observed.get(0), margin(), TtlServer.PRIORITY_WINDOW);
    }
    Kind kind = op.kind().basicKind();
    if (world.plan().faults().isEmpty() && kind != Kind.TRY && !op.kind().isOfSet()) {
      // While the head of the local queue asks the store for a permit, the next waiter may get one
      // by a handoff.
      boolean mayBeOvertaken = op.share().kind() == LockKind.SEMAPHORE && !setting.queueing();
      journal.fairnessCheck.checkLocalOrder(
          observed.get(0), margin(), mayBeOvertaken ? MAX_OVERTAKINGS : 0);
    }
    boolean async = op.kind().isAsync();
    for (ObservedLease one : observed) {
      one.renews =
          op.options() != Plan.LeaseOptions.NOT_RENEWED
              && op.options() != Plan.LeaseOptions.SHORT_TTL;
      long limit = maxHold(op);
      if (limit > 0) {
        one.mustEndBy = world.now() + machine.trueNanos(limit);
      }
      journal.recordMinimumHold(
          one, requestedAt + machine.trueNanos(minHold(op)), storeDefersReleases);
      // The lease of a future may end before the program that waits for it continues.
      one.require(
          one.initialValidity > 0 || async || machine.stoppedTime(requestedAt, world.now()) > 0,
          "EXCL-04",
          "lost when it was granted");
      one.require(one.token > 0 && hasTokens, "FENCE-05", "no fencing token");
      one.addListeners(lease, op.listener());
    }
    try {
      if (op.misuse()) {
        acquireAgain(op, lock, lease, observed.get(0));
      }
      if (!hold(op, lease, observed)) {
        awaitSignal(lease, observed.get(0));
      }
    } finally {
      end(op, lease, observed);
    }
  }

  /** Fails if the holder can acquire its lock again while it holds it. */
  private void acquireAgain(Op op, Acquirable<?> lock, Lease lease, ObservedLease observed)
      throws InterruptedException {
    boolean waits = op.options() == Plan.LeaseOptions.WAIT_TIMEOUT;
    long from = world.now();
    Lease second = null;
    journal.requestCheck.recordStart(label, Journal.NEVER, 0);
    try {
      second = waits ? lock.acquire() : lock.tryAcquire().orElse(null);
    } catch (LockException e) {
      // The call timed out, or the first lease was lost and the store did not answer.
    } finally {
      journal.requestCheck.recordEnd(label);
    }
    boolean whole = observed.share.isWhole();
    observed.require(second == null || !whole || !lease.isHeld(), "EXCL-06", "acquired twice");
    if (second == null && whole && !waits && lease.isHeld()) {
      requireInTime("WAIT-01", "tryAcquire() of a lock that this client holds", from, 0);
    }
    if (second != null) {
      second.close();
    }
  }

  private void requireNoToken(MultiLease set) {
    try {
      if (set.names().size() > 1) {
        world.fail("MULTI-03", label + ": one token for all of a set: " + set.fencingToken());
      }
    } catch (UnsupportedOperationException e) {
      // Each name has a token of its own.
    }
  }

  /** Renews a lease, and checks that the store has confirmed the renewal. */
  private void renew(Lease lease, List<ObservedLease> observed) throws InterruptedException {
    long from = world.now();
    if (world.plan().renewsAsync()) {
      await(lease.renewAsync());
    } else {
      lease.renew();
    }
    if (world.isOnModel()) {
      observed.forEach(one -> journal.renewalCheck.requireConfirmed(one, from));
    }
  }

  private void await(CompletableFuture<?> future) throws InterruptedException {
    isDone(future, null);
    try {
      future.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException problem ? problem : e;
    }
  }

  /** Waits for a future; returns false if it was not done within the limit, if there is one. */
  private boolean isDone(CompletableFuture<?> future, @Nullable Duration limit)
      throws InterruptedException {
    WakeUp wakeUp = new WakeUp(machine);
    var unused = future.whenComplete((value, failure) -> wakeUp.signal());
    return wakeUp.await(limit == null ? Deadline.never(machine) : Deadline.in(machine, limit));
  }

  /** Holds a lease; returns false if it was lost before the time was over. */
  private boolean hold(Op op, Lease lease, List<ObservedLease> observed)
      throws InterruptedException {
    long until = machine.monotonic() + op.hold();
    long step = Math.max(5 * MS, op.hold() / 12);
    while (until - machine.monotonic() > 0) {
      boolean isHeld = op.checksValidity() || !lease.onLoss().isDone();
      for (ObservedLease one : observed) {
        isHeld &= !op.checksValidity() || one.observeValidity(lease);
      }
      if (!isHeld) {
        return false;
      }
      if (op.renews()) {
        long from = world.now();
        try {
          renew(lease, observed);
        } catch (LockException e) {
          // The next check notices a loss.
        } catch (IllegalStateException e) {
          // The client was closed meanwhile, which has released the lease.
        } finally {
          // The call may also have to wait for a scheduled renewal.
          long shortage =
              world.plan().renewsAsync() ? machine.threadShortage(from, world.now()) : 0;
          requireInTime("WAIT-01", "renew()", from, setting.requestTimeout() + shortage);
        }
      }
      machine.pause(Math.min(step, Math.max(1, until - machine.monotonic())));
    }
    return true;
  }

  /** Waits until a loss is signalled, and fails if it is not in time. */
  private void awaitSignal(Lease lease, ObservedLease observed) throws InterruptedException {
    long from = world.now();
    long bound = machine.tolerance();
    while (!lease.onLoss().isDone()) {
      machine.pause(50 * MS);
      if (machine.lateness(from, world.now()) > bound) {
        observed.require(false, "LOSS-02", "not held, but no loss was signalled");
        return;
      }
    }
  }

  private void end(Op op, Lease lease, List<ObservedLease> observed) {
    Ending ending = op.ending();
    if (ending == Ending.FORGET && machine.forget(lease)) {
      observed.forEach(one -> one.minHoldUntil = 0);
      journal.note(machine, observed.get(0) + " abandoned");
      return;
    }
    if (ending == Ending.ELSEWHERE) {
      machine.run(
          "releaser",
          () -> {
            try {
              renew(lease, observed);
            } catch (InterruptedException | LockException e) {
              journal.note(machine, "another thread could not renew: " + e);
            } catch (IllegalStateException e) {
              // The lease has been released.
            }
            release(lease, observed);
          });
      if (op.listener() == 0) {
        return;
      }
    }
    release(lease, observed);
    if (ending == Ending.TWICE) {
      // The next holder may have the lock by now.
      machine.block(20 * MS);
      release(lease, observed);
      lease.close();
    }
  }

  private void release(Lease lease, List<ObservedLease> observed) {
    long from = world.now();
    ObservedLease first = observed.get(0);
    if (!(lease instanceof MultiLease) && lease.fencingToken() != first.token) {
      world.fail("FENCE-03", first + ": its token has become " + lease.fencingToken());
    }
    observed.forEach(ObservedLease::recordReleaseCall);
    journal.requestCheck.recordReleaseStart();
    ReleaseOutcome outcome = lease.release();
    journal.requestCheck.recordReleaseEnd();
    observed.forEach(one -> one.recordRelease(outcome));
    requireInTime("REL-02", "release()", from, setting.requestTimeout());
  }

  // --- views ----------------------------------------------------------------------------------

  private void view(Op op, LockClient client) throws InterruptedException {
    LeasedLock view = lock(op, client).asLock();
    long from = world.now();
    long clock = machine.monotonic();
    boolean interrupted = op.kind() == Kind.VIEW && op.listener() > 0;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    boolean result = false;
    try {
      result =
          switch (op.kind().basicKind()) {
            case TRY -> view.tryLock();
            case TIMED -> view.tryLock(op.timeout(), TimeUnit.NANOSECONDS);
            default -> {
              if (op.treatment() == Plan.Treatment.AWAIT) {
                view.lockInterruptibly();
              } else {
                view.lock();
              }
              yield true;
            }
          };
    } catch (InterruptedException e) {
      requireNotHeld(view, "interrupted");
      throw e;
    } catch (LockException e) {
      checkFailure(op, from, clock, e);
      throw e;
    }
    if (!result) {
      requireReason(op, clock);
      return;
    }
    if (interrupted && !Thread.interrupted()) {
      world.fail("JUC-03", label + ": lock() swallowed an interrupt");
    }
    ObservedLease observed =
        journal.recordGrant(machine, Plan.name(op.name()), op.share(), 0, from, null);
    journal.recordMinimumHold(observed, from + machine.trueNanos(minHold(op)), storeDefersReleases);
    boolean lost = false;
    try {
      long until = machine.monotonic() + op.hold();
      while (until - machine.monotonic() > 0) {
        machine.pause(Math.max(5 * MS, op.hold() / 6));
        if (op.misuse() && op.share().kind() == LockKind.READ_WRITE) {
          requireSidesFixed(op, client);
        }
        long before = world.now();
        // A reentrant call: it needs no request while the lock is held, and throws after a loss.
        if (view.tryLock()) {
          observed.extend(before);
          view.unlock();
        }
      }
    } catch (LeaseLostException e) {
      lost = true;
      if (view.lease().isEmpty()) {
        world.fail("JUC-05", label + ": no lease that signals the loss");
      }
    } finally {
      observed.recordReleaseCall();
      from = world.now();
      view.unlock();
      requireInTime("REL-02", "unlock()", from, setting.requestTimeout());
    }
    observed.require(!lost, "JUC-04", "unlock() does not report the loss");
    requireNotHeld(view, "unlocked");
  }

  /** Fails if the thread, which holds one side of a read-write lock, can lock the other. */
  private void requireSidesFixed(Op op, LockClient client) {
    DistributedReadWriteLock both = client.readWriteLock(Plan.name(op.name()));
    DistributedLock other = op.share().isWhole() ? both.readLock() : both.writeLock();
    try {
      boolean locked = other.asLock().tryLock();
      world.fail("RW-07", label + ": locking the other side returned " + locked);
    } catch (IllegalStateException e) {
      journal.note(machine, who() + ": " + e.getMessage());
    }
  }

  private void requireNotHeld(LeasedLock view, String why) {
    if (view.lease().isPresent()) {
      world.fail("JUC-05", label + ": has a lease after it was " + why);
    }
    try {
      view.unlock();
    } catch (IllegalMonitorStateException e) {
      return;
    }
    world.fail("JUC-02", label + ": held after it was " + why);
  }
}
