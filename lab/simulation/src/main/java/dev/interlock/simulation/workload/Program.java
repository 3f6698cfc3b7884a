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
import dev.interlock.simulation.oracle.Held;
import dev.interlock.simulation.oracle.Journal;
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

/** One thread of one client: performs its operations in order. */
public final class Program implements Runnable {

  private static final long MS = 1_000_000;
  private static final long LEAST_PER_REQUEST = 250 * MS;
  private static final int CROWD = 20;

  /** The number of permits that the engine lets pass a head: eight, and some at first. */
  private static final int MAX_OVERTAKINGS = 16;

  private final Surroundings world;
  private final Plan.Setting setting;
  private final Journal journal;
  private final Machine machine;
  private final Clients clients;
  private final List<Op> ops;
  private @Nullable Op current;
  private String label = "";
  private int begun;
  private boolean waits;
  private boolean fenced;
  private boolean defersReleases;
  private boolean done;

  /** The client that a machine has at the moment. */
  public interface Clients {
    /** Waits until there is one. */
    LockClient current() throws InterruptedException;

    boolean isOpen(LockClient client);
  }

  public Program(Surroundings world, Machine machine, Clients clients, List<Op> ops) {
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

  /** The number of the current interruptible wait; 0 if there is none. */
  public int waiting() {
    return waits ? begun : 0;
  }

  @Override
  public void run() {
    for (Op op : ops) {
      current = op;
      label = who() + "#" + ++begun;
      try {
        LockClient client = clients.current();
        journal.note(machine, who() + ": " + op);
        fenced = client.backend().has(Capability.FENCING);
        defersReleases = client.backend().has(Capability.DEFERRED_RELEASE);
        Kind way = op.kind().way();
        waits = (way == Kind.ACQUIRE || way == Kind.TIMED) && !op.kind().isView();
        try {
          perform(op, client);
        } finally {
          waits = false;
          journal.requestCheck.ends(label);
        }
        machine.pause(op.pause());
      } catch (InterruptedException e) {
        journal.note(machine, who() + " interrupted");
      } catch (LockException e) {
        journal.note(machine, who() + ": " + e);
        if (e instanceof LockConfigurationException) {
          world.refused(op, e);
        } else {
          world.unavailable(op, e);
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

  /** The options of an operation; null if it has those of the client. */
  private @Nullable Consumer<LockOptions.Builder> change(Op op) {
    return op.keeping() == Plan.Keeping.DEFAULT ? null : options -> change(options, op);
  }

  private void change(LockOptions.Builder builder, Op op) {
    journal.requestCheck.begins(label, latest(op), least(op));
    builder.label(label).minHold(null).maxHold(null);
    switch (op.keeping()) {
      case RENEWED -> {}
      case FIXED -> builder.autoRenew(false);
      case BRIEF -> builder.autoRenew(false).ttl(Duration.ofNanos(setting.ttl() / 4));
      case MAX_HOLD -> builder.maxHold(Duration.ofNanos(maxHold(op)));
      case MIN_HOLD -> builder.minHold(Duration.ofNanos(minHold(op)));
      case IMPATIENT -> builder.waitTimeout(Duration.ofNanos(Math.max(MS, op.patience())));
      case DEFAULT -> throw new IllegalArgumentException("it has no options");
    }
  }

  private static String who() {
    return Thread.currentThread().getName();
  }

  /** Zero if there is none. */
  private long maxHold(Op op) {
    return switch (op.keeping()) {
      case MAX_HOLD -> setting.ttl() / 2 + op.hold() / 2;
      case DEFAULT -> setting.maxHold();
      default -> 0;
    };
  }

  /** Zero if there is none. */
  private long minHold(Op op) {
    return op.keeping() == Plan.Keeping.MIN_HOLD ? setting.ttl() / 2 + op.hold() / 2 : 0;
  }

  /** When the last request of an acquisition must have ended; a request gets a quarter second. */
  private long latest(Op op) {
    return switch (op.kind().way()) {
      case TRY -> machine.monotonic() + setting.requestTimeout();
      case TIMED, ASYNC_TIMED -> machine.monotonic() + op.patience() + LEAST_PER_REQUEST;
      default ->
          op.keeping() == Plan.Keeping.IMPATIENT
              ? machine.monotonic() + Math.max(MS, op.patience()) + LEAST_PER_REQUEST
              : Journal.NEVER;
    };
  }

  /**
   * The least time for each of its requests, if that much is left until the latest. Those that wait
   * without limit have no more than the rest of their outage time-out.
   */
  private long least(Op op) {
    return op.kind().way() == Kind.TRY
        ? setting.requestTimeout()
        : Math.min(setting.requestTimeout(), LEAST_PER_REQUEST);
  }

  private void perform(Op op, LockClient client) throws InterruptedException {
    String name = Plan.name(op.name());
    switch (op.kind()) {
      case ACQUIRE, TRY, TIMED, ASYNC, ASYNC_TIMED -> take(op, acquirable(op, client));
      case CAMPAIGN, CAMPAIGN_TIMED, CAMPAIGN_ASYNC -> take(op, new Campaign(election(op, client)));
      case STAND ->
          new Candidate(
                  world, machine, op, label, maxHold(op), this::hold, () -> clients.isOpen(client))
              .stand(election(op, client));
      case OBSERVE -> observe(op, client);
      case VIEW, VIEW_TRY, VIEW_TIMED -> view(op, client);
      case SET, SET_TRY, SET_TIMED, SET_ASYNC, SET_ASYNC_TIMED -> {
        List<String> names = setting.namesOfLocks();
        Consumer<LockOptions.Builder> change = change(op);
        take(op, change == null ? client.multiLock(names) : client.multiLock(names, change));
      }
      case CROWD -> crowd(op, client);
      case INSPECT -> {
        long from = world.now();
        LockState state = client.admin().inspect(name);
        if (!setting.outside()) {
          journal.holderCheck.inspected(state, from, world.isTokenOfStore());
        }
        took("WAIT-01", "inspect()", from, setting.requestTimeout());
      }
      case REVOKE -> {
        if (world.plan().store() != Plan.Store.QUEUE) {
          journal.revokes(name);
          var unused = client.admin().revoke(name);
        }
      }
      case FORCE -> {
        long from = world.now();
        if (client.admin().forceRelease(name)) {
          journal.holderCheck.forced(name, from, Math.max(setting.ttl(), setting.sessionTimeout()));
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
    if (op.again()) {
      requireRefused(semaphore, 0);
      requireRefused(semaphore, share.capacity() + 1);
    }
    return share.weight() == 1 && !op.again() ? semaphore : semaphore.permits(share.weight());
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

  /** The campaigns of an election as acquisitions. */
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
      machine.pause(op.patience());
      if (!observer.hasBeenCalled()
          && world.isStoreThere()
          && clients.isOpen(client)
          && machine.lateness(from, world.now()) > margin() + machine.tolerance()) {
        world.fail("ELECT-03", "a listener did not learn the initial state: " + observer);
      }
    } finally {
      observer.close();
    }
  }

  /** How long a few requests take at most where nothing goes wrong. */
  private long margin() {
    return 50 * MS + 50 * setting.delay();
  }

  private void took(String rule, String what, long from, long bound) {
    machine.requireInTime(rule, who() + ": " + what, from, bound);
  }

  /** Fails if a timed attempt gave up before its time was over. */
  private void lasted(String what, long from, long patience) {
    long took = world.now() - from;
    if (took + MS < machine.trueNanos(patience)) {
      world.fail(
          "WAIT-02",
          who() + ": " + what + " gave up after " + took / MS + " of " + patience / MS + " ms");
    }
  }

  // --- leases ---------------------------------------------------------------------------------

  private <L extends Lease> void take(Op op, Acquirable<L> lock) throws InterruptedException {
    long from = world.now();
    long clock = machine.monotonic();
    String name = Plan.name(op.name());
    // A set has to release its members if it fails.
    long more = op.kind().isOfSet() ? setting.requestTimeout() : 0;
    // A request gets a quarter of a second even if less time is left.
    long beyond = LEAST_PER_REQUEST + more;
    L lease = null;
    switch (op.kind().way()) {
      case ACQUIRE -> {
        waits(op, Journal.NEVER);
        try {
          lease = lock.acquire();
        } catch (LockException e) {
          checkFailure(op, from, clock, e);
          throw e;
        } finally {
          waitsNoMore(op);
          if (op.keeping() == Plan.Keeping.IMPATIENT) {
            took("WAIT-02", "acquire()", from, op.patience() + beyond + renewal());
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
          took("WAIT-01", "tryAcquire()", from, setting.requestTimeout() + more + renewal());
          if (journal.requestCheck.renewals(label) > 1) {
            world.fail("requests", label + ": a set was renewed more than once before its grant");
          }
        }
      }
      case TIMED -> {
        waits(op, machine.monotonic() + op.patience());
        try {
          lease = lock.tryAcquire(Duration.ofNanos(op.patience())).orElse(null);
          if (lease == null) {
            lasted("tryAcquire(t)", from, op.patience());
            requireReason(op, clock);
          }
        } catch (LockUnavailableException e) {
          lasted("tryAcquire(t)", from, op.patience());
          throw e;
        } finally {
          waitsNoMore(op);
          took("WAIT-02", "tryAcquire(t)", from, op.patience() + beyond + renewal());
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
        Optional<L> had = future(op, lock.tryAcquireAsync(Duration.ofNanos(op.patience())));
        long shortage = machine.shortOfThreads(from, world.now());
        took("WAIT-02", "tryAcquireAsync(t)", from, op.patience() + beyond + more + shortage);
        lease = had == null ? null : had.orElse(null);
        if (had != null && lease == null) {
          requireReason(op, clock);
        }
      }
    }
    waits = false;
    journal.requestCheck.ends(label);
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
   * Fails if an attempt ended with nothing for no reason.
   *
   * @param clock when it began, by the machine's clock
   */
  private void requireReason(Op op, long clock) {
    if (world.isOnModel()) {
      Share share = op.kind().isOfSet() ? Share.EXCLUSIVE : op.share();
      journal.emptyAnswerCheck.requireReason(machine, names(op), share, clock);
    }
  }

  /** Checks the reason of a time-out, and how long an outage was borne by a call without one. */
  private void checkFailure(Op op, long from, long clock, @Nullable Throwable failure) {
    boolean mayTimeOut =
        op.keeping() == Plan.Keeping.IMPATIENT
            || op.kind().way() == Kind.TRY
            || op.kind().way() == Kind.TIMED;
    if (failure instanceof LockTimeoutException) {
      requireReason(op, clock);
    } else if (failure instanceof LockUnavailableException
        && !mayTimeOut
        && world.isOnModel()
        // It makes lock() enter the queue anew, perhaps as the first to see the outage.
        && !Thread.currentThread().isInterrupted()) {
      long timeout = op.keeping() == Plan.Keeping.BRIEF ? setting.ttl() / 4 : setting.ttl();
      boolean blocking = op.kind().way() == Kind.ACQUIRE;
      journal.outageCheck.requireNotEarly(machine, names(op), from, timeout, blocking, failure);
      // Only sets are in no queue while they wait for a thread.
      if (!op.kind().isOfSet() || !op.kind().isAsync() || setting.virtualThreads()) {
        journal.outageCheck.requireNotLate(machine, names(op), from, timeout, failure);
      }
    }
  }

  // A set waits for one name after the other.
  private void waits(Op op, long until) {
    if (!op.kind().isOfSet()) {
      journal.fairnessCheck.waits(machine, Plan.name(op.name()), op.share(), until);
    }
  }

  private void waitsNoMore(Op op) {
    if (!op.kind().isOfSet()) {
      journal.fairnessCheck.waitsNoMore(machine, Plan.name(op.name()));
    }
  }

  /** A future, and its lease as the journal knows it. */
  private record Pending(CompletableFuture<Lease> lease, CompletableFuture<Held> held) {}

  /** Many futures of one name, more than a client may have threads: each is served. */
  private void crowd(Op op, LockClient client) throws InterruptedException {
    Acquirable<Lease> lock = acquirable(op, client);
    WakeUp wakeUp = new WakeUp(machine);
    List<Pending> all = new ArrayList<>();
    long from = world.now();
    long clock = machine.monotonic();
    try {
      for (int i = 0; i < CROWD; i++) {
        CompletableFuture<Lease> lease = lock.acquireAsync();
        // Right away, as the lease may be lost before the loop below reaches it.
        CompletableFuture<Held> held =
            lease.thenApply(
                one -> {
                  Held granted = granted(op, one, from);
                  granted.listen(one, 0);
                  return granted;
                });
        var unused =
            held.whenComplete(
                (value, failure) -> {
                  if (failure != null) {
                    checkFailure(op, from, clock, failure.getCause());
                  }
                  wakeUp.signal();
                });
        all.add(new Pending(lease, held));
      }
      while (!all.isEmpty()) {
        List<Pending> done = all.stream().filter(one -> one.held().isDone()).toList();
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
    if (!one.held().isCompletedExceptionally()) {
      machine.block(after);
      release(one.lease().join(), List.of(one.held().join()));
    }
  }

  private Held granted(Op op, Lease lease, long requestedAt) {
    return journal.granted(
        machine, lease.name(), op.share(), lease.fencingToken(), requestedAt, lease);
  }

  /** How long the renewal of a set may have taken before its grant. */
  private long renewal() {
    return journal.requestCheck.renewals(label) > 0 ? setting.requestTimeout() : 0;
  }

  /** Waits for a future, or ends it as the operation says; null if that came first. */
  private <R> @Nullable R future(Op op, CompletableFuture<R> future) throws InterruptedException {
    boolean ends = op.treatment() != Plan.Treatment.AWAIT;
    try {
      if (!isDone(future, ends ? Duration.ofNanos(op.patience() / 2) : null)) {
        switch (op.treatment()) {
          case AWAIT -> throw new IllegalStateException("AWAIT does not end the future");
          case CANCEL -> future.cancel(true);
          case TIME_OUT -> future.completeExceptionally(new TimeoutException("orTimeout"));
          case COMPLETE -> future.complete(null);
          case FAIL -> future.completeExceptionally(new IllegalArgumentException("outside"));
        }
        journal.requestCheck.ends(label);
      }
      return future.join();
    } catch (InterruptedException e) {
      // The program has stopped waiting; a lease that still arrives is released.
      var ignored = future.cancel(true);
      if (!future.isCancelled() && !future.isCompletedExceptionally()) {
        giveBack(future.join());
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

  private static void giveBack(@Nullable Object result) {
    Object lease = result instanceof Optional<?> optional ? optional.orElse(null) : result;
    if (lease instanceof Lease held) {
      held.close();
    }
  }

  private void use(Op op, Acquirable<?> lock, Lease lease, long requestedAt)
      throws InterruptedException {
    List<Held> held = new ArrayList<>();
    if (lease instanceof MultiLease set) {
      requireNoToken(set);
      for (String name : set.names()) {
        long token = set.fencingToken(name);
        held.add(journal.granted(machine, name, Share.EXCLUSIVE, token, requestedAt, lease));
      }
    } else {
      held.add(granted(op, lease, requestedAt));
    }
    if (setting.queueing()) {
      journal.fairnessCheck.checkFairness(held.get(0), margin());
    } else if (setting.inTurns()) {
      journal.fairnessCheck.checkTurns(held.get(0), margin(), TtlServer.WINDOW);
    }
    Kind way = op.kind().way();
    if (world.plan().faults().isEmpty() && way != Kind.TRY && !op.kind().isOfSet()) {
      // While the head of a line asks the store for a permit, the next one may get a local one.
      boolean passed = op.share().kind() == LockKind.SEMAPHORE && !setting.queueing();
      journal.fairnessCheck.checkLocalOrder(held.get(0), margin(), passed ? MAX_OVERTAKINGS : 0);
    }
    boolean async = op.kind().isAsync();
    for (Held one : held) {
      one.renews = op.keeping() != Plan.Keeping.FIXED && op.keeping() != Plan.Keeping.BRIEF;
      long most = maxHold(op);
      if (most > 0) {
        one.mustEndBy = world.now() + machine.trueNanos(most);
      }
      journal.staysTaken(one, requestedAt + machine.trueNanos(minHold(op)), defersReleases);
      // A future's lease may end before its program goes on.
      one.require(
          one.leftAtFirst > 0 || async || machine.stopped(requestedAt, world.now()) > 0,
          "EXCL-04",
          "lost when it was granted");
      one.require(one.token > 0 && fenced, "FENCE-05", "no token that counts");
      one.listen(lease, op.listener());
    }
    try {
      if (op.again()) {
        again(op, lock, lease, held.get(0));
      }
      if (!hold(op, lease, held)) {
        awaitSignal(lease, held.get(0));
      }
    } finally {
      end(op, lease, held);
    }
  }

  /** Fails if the holder can acquire its lock again. */
  private void again(Op op, Acquirable<?> lock, Lease lease, Held held)
      throws InterruptedException {
    boolean waits = op.keeping() == Plan.Keeping.IMPATIENT;
    long from = world.now();
    Lease second = null;
    journal.requestCheck.begins(label, Journal.NEVER, 0);
    try {
      second = waits ? lock.acquire() : lock.tryAcquire().orElse(null);
    } catch (LockException e) {
      // Timed out, or the first was lost meanwhile, and the store cannot be asked.
    } finally {
      journal.requestCheck.ends(label);
    }
    boolean whole = held.share.isWhole();
    held.require(second == null || !whole || !lease.isHeld(), "EXCL-06", "acquired twice");
    if (second == null && whole && !waits && lease.isHeld()) {
      took("WAIT-01", "tryAcquire() of what is held here", from, 0);
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
      // Each name has its own.
    }
  }

  /** Renews a lease, and checks that the store has confirmed that. */
  private void renew(Lease lease, List<Held> held) throws InterruptedException {
    long from = world.now();
    if (world.plan().renewsAsync()) {
      await(lease.renewAsync());
    } else {
      lease.renew();
    }
    if (world.isOnModel()) {
      held.forEach(one -> journal.renewalCheck.requireConfirmed(one, from));
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

  /** Returns false if it was lost before the time is over. */
  private boolean hold(Op op, Lease lease, List<Held> held) throws InterruptedException {
    long until = machine.monotonic() + op.hold();
    long step = Math.max(5 * MS, op.hold() / 12);
    while (until - machine.monotonic() > 0) {
      boolean isHeld = op.looks() || !lease.onLoss().isDone();
      for (Held one : held) {
        isHeld &= !op.looks() || one.look(lease);
      }
      if (!isHeld) {
        return false;
      }
      if (op.renews()) {
        long from = world.now();
        try {
          renew(lease, held);
        } catch (LockException e) {
          // The next check finds it.
        } catch (IllegalStateException e) {
          // The client was closed meanwhile, which has released it.
        } finally {
          // A scheduled renewal, for which it may have to wait, counts too.
          long shortage =
              world.plan().renewsAsync() ? machine.shortOfThreads(from, world.now()) : 0;
          took("WAIT-01", "renew()", from, setting.requestTimeout() + shortage);
        }
      }
      machine.pause(Math.min(step, Math.max(1, until - machine.monotonic())));
    }
    return true;
  }

  /** Fails unless the loss of a lease that is neither held nor released is signalled. */
  private void awaitSignal(Lease lease, Held held) throws InterruptedException {
    long from = world.now();
    long bound = machine.tolerance();
    while (!lease.onLoss().isDone()) {
      machine.pause(50 * MS);
      if (machine.lateness(from, world.now()) > bound) {
        held.require(false, "LOSS-02", "not held, but no loss was signalled");
        return;
      }
    }
  }

  private void end(Op op, Lease lease, List<Held> held) {
    Ending ending = op.ending();
    if (ending == Ending.FORGET && machine.forget(lease)) {
      held.forEach(one -> one.minHoldUntil = 0);
      journal.note(machine, held.get(0) + " forgotten");
      return;
    }
    if (ending == Ending.ELSEWHERE) {
      machine.run(
          "releaser",
          () -> {
            try {
              renew(lease, held);
            } catch (InterruptedException | LockException e) {
              journal.note(machine, "another thread could not renew: " + e);
            } catch (IllegalStateException e) {
              // It has been released.
            }
            release(lease, held);
          });
      if (op.listener() == 0) {
        return;
      }
    }
    release(lease, held);
    if (ending == Ending.TWICE) {
      // The next holder may have the lock by now.
      machine.block(20 * MS);
      release(lease, held);
      lease.close();
    }
  }

  private void release(Lease lease, List<Held> held) {
    long from = world.now();
    Held first = held.get(0);
    if (!(lease instanceof MultiLease) && lease.fencingToken() != first.token) {
      world.fail("FENCE-03", first + ": its token has become " + lease.fencingToken());
    }
    held.forEach(Held::releasing);
    journal.requestCheck.beginsRelease();
    ReleaseOutcome outcome = lease.release();
    journal.requestCheck.endsRelease();
    held.forEach(one -> one.released(outcome));
    took("REL-02", "release()", from, setting.requestTimeout());
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
    boolean had = false;
    try {
      had =
          switch (op.kind().way()) {
            case TRY -> view.tryLock();
            case TIMED -> view.tryLock(op.patience(), TimeUnit.NANOSECONDS);
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
    if (!had) {
      requireReason(op, clock);
      return;
    }
    if (interrupted && !Thread.interrupted()) {
      world.fail("JUC-03", label + ": lock() swallowed an interrupt");
    }
    Held held = journal.granted(machine, Plan.name(op.name()), op.share(), 0, from, null);
    journal.staysTaken(held, from + machine.trueNanos(minHold(op)), defersReleases);
    boolean lost = false;
    try {
      long until = machine.monotonic() + op.hold();
      while (until - machine.monotonic() > 0) {
        machine.pause(Math.max(5 * MS, op.hold() / 6));
        if (op.again() && op.share().kind() == LockKind.READ_WRITE) {
          changeSides(op, client);
        }
        long before = world.now();
        // Reentrant: it succeeds without a request while the lock is held, or throws.
        if (view.tryLock()) {
          held.extend(before);
          view.unlock();
        }
      }
    } catch (LeaseLostException e) {
      lost = true;
      if (view.lease().isEmpty()) {
        world.fail("JUC-05", label + ": no lease from which to learn of a loss");
      }
    } finally {
      held.releasing();
      from = world.now();
      view.unlock();
      took("REL-02", "unlock()", from, setting.requestTimeout());
    }
    held.require(!lost, "JUC-04", "unlock() does not report the loss");
    requireNotHeld(view, "unlocked");
  }

  /** Fails if the thread, which holds one side of a name, can lock the other. */
  private void changeSides(Op op, LockClient client) {
    DistributedReadWriteLock both = client.readWriteLock(Plan.name(op.name()));
    DistributedLock other = op.share().isWhole() ? both.readLock() : both.writeLock();
    try {
      boolean locked = other.asLock().tryLock();
      world.fail("RW-07", label + ": tried to change sides, and got " + locked);
    } catch (IllegalStateException e) {
      journal.note(machine, who() + ": " + e.getMessage());
    }
  }

  private void requireNotHeld(LeasedLock view, String why) {
    if (view.lease().isPresent()) {
      world.fail("JUC-05", label + ": has a lease although it was " + why);
    }
    try {
      view.unlock();
    } catch (IllegalMonitorStateException e) {
      return;
    }
    world.fail("JUC-02", label + ": held although it was " + why);
  }
}
