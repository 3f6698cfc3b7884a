package dev.interlock.internal;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A store without a queue, for one JVM, that does what a test tells it: fail, lose replies, be
 * slow, stop in the middle of a call.
 */
final class FakeStore {

  enum Op {
    ACQUIRE,
    RENEW,
    RELEASE,
    DEFER,
    INSPECT
  }

  /** Intercepts a call. */
  interface CallHook {
    /** Called before the store does anything. */
    void before() throws InterruptedException;

    /** Called when the store has done its work, before the reply. */
    default void after() {}
  }

  /** Stops a call until the gate is opened. */
  static final class Gate implements CallHook {
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch opened = new CountDownLatch(1);

    @Override
    public void before() throws InterruptedException {
      arrived.countDown();
      opened.await();
    }

    void awaitArrival() throws InterruptedException {
      if (!arrived.await(30, TimeUnit.SECONDS)) {
        throw new AssertionError("nobody came to the gate");
      }
    }

    boolean hasArrival() {
      return arrived.getCount() == 0;
    }

    void open() {
      opened.countDown();
    }
  }

  private record Hold(String id, Share share, long until, long token, String label) {
    Hold until(long later) {
      return new Hold(id, share, later, token, label);
    }
  }

  private final ManualTime time;
  private final Map<String, List<Hold>> holds = new HashMap<>();
  private final Map<String, List<WakeUp>> watchers = new HashMap<>();
  private final Map<String, Consumer<LossReason>> holders = new HashMap<>();
  private final Map<Op, CallHook> nextCalls = new EnumMap<>(Op.class);
  private final Map<Op, AtomicInteger> calls = new EnumMap<>(Op.class);
  private final List<Integer> batches = new ArrayList<>();
  private final List<Duration> renewalTimeouts = new ArrayList<>();
  private final AtomicInteger renewing = new AtomicInteger();
  private int maxRenewing;
  private long tokens;
  private volatile @Nullable Claim lastClaim;
  private volatile Duration attemptTimeout = Duration.ZERO;
  private volatile Duration releaseTimeout = Duration.ZERO;
  private boolean down;
  private boolean refusing;
  private final List<Claim> attempted = new ArrayList<>();
  private final List<Claim> forgotten = new ArrayList<>();
  private final List<Claim> endedSessions = new ArrayList<>();
  private @Nullable Error nextError;
  private boolean onSessions;
  private @Nullable Duration validityPerConfirmation;
  private boolean watchesFail;
  private boolean unwatchingFails;
  private boolean defersReleases;
  private Duration hint;

  FakeStore(ManualTime time) {
    this.time = time;
    for (Op op : Op.values()) {
      calls.put(op, new AtomicInteger());
    }
  }

  static LockUnavailableException noAnswer() {
    return new LockUnavailableException("fake", "nowhere:1", "no answer", null);
  }

  synchronized void down(boolean isDown) {
    down = isDown;
  }

  /** Refuses all calls, or none, from now on. */
  synchronized void refuse(boolean refuse) {
    refusing = refuse;
  }

  synchronized List<Claim> attempted() {
    return List.copyOf(attempted);
  }

  /** Returns the claims that the engine has forgotten, in order. */
  synchronized List<Claim> forgotten() {
    return List.copyOf(forgotten);
  }

  /** Fails the next call of {@code forget} or {@code endSession} with the error. */
  synchronized void failOnce(Error error) {
    nextError = error;
  }

  private void throwNextError() {
    Error error = nextError;
    nextError = null;
    if (error != null) {
      throw error;
    }
  }

  /** Returns the claims whose session was to be ended. */
  synchronized List<Claim> endedSessions() {
    return List.copyOf(endedSessions);
  }

  /**
   * Ties grants to sessions from now on: nothing ends them on the store while the sessions live.
   */
  synchronized void onSessions() {
    onSessions = true;
  }

  /**
   * Ties grants to sessions from now on; each answer makes a session certain for only this time.
   */
  synchronized void onSessionsValidityPerConfirmation(Duration duration) {
    onSessions = true;
    validityPerConfirmation = duration;
  }

  private synchronized Duration validityPerConfirmation(Claim claim) {
    return validityPerConfirmation == null ? claim.ttl() : validityPerConfirmation;
  }

  synchronized void watchesFail(boolean fail) {
    watchesFail = fail;
  }

  /** Makes the end of each watch fail, as a fault of the backend. */
  synchronized void unwatchingFails(boolean fails) {
    unwatchingFails = fails;
  }

  /** Lets clients that are opened from now on defer releases. */
  synchronized void defersReleases() {
    defersReleases = true;
  }

  /** Sets the pause that a busy store asks for from now on. */
  synchronized void hint(Duration pollInterval) {
    hint = pollInterval;
  }

  /** Intercepts the next call of the operation. */
  synchronized void onNextCall(Op op, CallHook hook) {
    nextCalls.put(op, hook);
  }

  /** Makes each call of the operation take this long from now on. */
  void slow(Op op, Duration duration) {
    onNextCall(
        op,
        () -> {
          time.pass(duration);
          slow(op, duration);
        });
  }

  /** Executes the next call of the operation, and loses the reply. */
  void loseReply(Op op) {
    loseReply(op, Duration.ZERO);
  }

  /** Executes the next call of the operation after a while, and loses the reply. */
  void loseReply(Op op, Duration duration) {
    onNextCall(
        op,
        new CallHook() {
          @Override
          public void before() {
            time.pass(duration);
          }

          @Override
          public void after() {
            throw noAnswer();
          }
        });
  }

  /** Executes each call of the operation, and loses the reply. */
  void loseEachReply(Op op) {
    onNextCall(
        op,
        new CallHook() {
          @Override
          public void before() {}

          @Override
          public void after() {
            loseEachReply(op);
            throw noAnswer();
          }
        });
  }

  Gate gate(Op op) {
    Gate gate = new Gate();
    onNextCall(op, gate);
    return gate;
  }

  @Nullable Claim lastClaim() {
    return lastClaim;
  }

  Duration attemptTimeout() {
    return attemptTimeout;
  }

  Duration releaseTimeout() {
    return releaseTimeout;
  }

  int calls(Op op) {
    return calls.get(op).get();
  }

  synchronized List<Integer> batches() {
    return List.copyOf(batches);
  }

  synchronized List<Duration> renewalTimeouts() {
    return List.copyOf(renewalTimeouts);
  }

  synchronized int maxRenewing() {
    return maxRenewing;
  }

  synchronized boolean holds(String name) {
    return !live(name).isEmpty();
  }

  synchronized int holders(String name) {
    return live(name).size();
  }

  private List<Hold> live(String name) {
    long now = time.nanoTime();
    return holds.getOrDefault(name, List.of()).stream()
        .filter(hold -> hold.until() - now > 0)
        .toList();
  }

  private @Nullable Hold hold(Claim claim) {
    return hold(claim.name(), claim.id());
  }

  private @Nullable Hold hold(String name, String id) {
    return live(name).stream().filter(hold -> hold.id().equals(id)).findFirst().orElse(null);
  }

  private void put(String name, Hold hold) {
    List<Hold> all = new ArrayList<>(live(name));
    all.removeIf(other -> other.id().equals(hold.id()));
    all.add(hold);
    holds.put(name, all);
  }

  private void remove(Claim claim) {
    List<Hold> all = new ArrayList<>(live(claim.name()));
    all.removeIf(other -> other.id().equals(claim.id()));
    holds.put(claim.name(), all);
  }

  /** Deletes the lock without telling the holder. */
  synchronized void delete(String name) {
    holds.remove(name);
  }

  /** Takes the lock from its last holder, and reports the loss. */
  void reportLoss(String name, LossReason reason) {
    Consumer<LossReason> holder;
    synchronized (this) {
      holds.remove(name);
      holder = holders.get(name);
    }
    holder.accept(reason);
  }

  /** Lets another client hold the lock. */
  synchronized void occupy(String name, Duration ttl) {
    occupy(name, Share.EXCLUSIVE, ttl);
  }

  /** Lets another client hold a share of the name. */
  synchronized void occupy(String name, Share share, Duration ttl) {
    long until = time.nanoTime() + ttl.toNanos();
    put(name, new Hold("somebody", share, until, ++tokens, "somebody"));
  }

  /** Executes a delayed request to acquire, which its sender no longer waits for. */
  synchronized void arrive(Claim delayed) {
    long until = time.nanoTime() + delayed.ttl().toNanos();
    put(delayed.name(), new Hold(delayed.id(), delayed.share(), until, ++tokens, delayed.label()));
  }

  synchronized void free(String name) {
    holds.remove(name);
    watchers.getOrDefault(name, List.of()).forEach(WakeUp::signal);
  }

  synchronized int watchers() {
    return watchers.values().stream().mapToInt(List::size).sum();
  }

  LockBackend open(BackendContext context) {
    return new Backend(context);
  }

  private CallHook arrive(Op op) throws InterruptedException {
    CallHook hook;
    synchronized (this) {
      calls.get(op).incrementAndGet();
      hook = nextCalls.remove(op);
    }
    if (hook != null) {
      hook.before();
    }
    synchronized (this) {
      if (down) {
        throw noAnswer();
      }
      if (refusing) {
        throw new LockConfigurationException("fake at nowhere:1: no permission", null);
      }
    }
    return hook == null ? () -> {} : hook;
  }

  private final class Backend implements LockBackend {
    private final BackendContext context;
    private volatile boolean closed;

    Backend(BackendContext context) {
      this.context = context;
    }

    private CallHook arriveOpen(Op op) throws InterruptedException {
      CallHook hook = arrive(op);
      if (closed) {
        throw noAnswer();
      }
      return hook;
    }

    @Override
    public BackendInfo info() {
      EnumSet<Capability> capabilities =
          EnumSet.of(Capability.FENCING, Capability.READ_WRITE, Capability.SEMAPHORE);
      synchronized (FakeStore.this) {
        if (defersReleases) {
          capabilities.add(Capability.DEFERRED_RELEASE);
        }
      }
      return BackendInfoBuilder.of("fake", "for tests")
          .capabilities(capabilities)
          .minTtl(Duration.ofMillis(1))
          .build();
    }

    @Override
    public String endpoint() {
      return "nowhere:1";
    }

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
      lastClaim = claim;
      attemptTimeout = deadline.remaining();
      synchronized (FakeStore.this) {
        attempted.add(claim);
      }
      CallHook hook = arriveOpen(Op.ACQUIRE);
      Attempt attempt;
      synchronized (FakeStore.this) {
        long now = time.nanoTime();
        List<Hold> live = live(claim.name());
        long weight = claim.share().weight();
        for (Hold hold : live) {
          if (!claim.share().agreesWith(hold.share())) {
            throw claim.share().disagreement(claim.name(), hold.share());
          }
          weight += hold.share().weight();
        }
        if (weight > claim.share().capacity()) {
          long remaining = live.get(0).until() - now;
          attempt = new Attempt.Busy(hint == null ? Duration.ofNanos(remaining) : hint);
        } else {
          long until = now + claim.ttl().toNanos();
          put(claim.name(), new Hold(claim.id(), claim.share(), until, ++tokens, claim.label()));
          holders.put(
              claim.name(), reason -> context.reportLoss(claim, reason, "reported by the server"));
          // Counted from here, which is too late: the engine must correct it.
          attempt =
              new Attempt.Granted(
                  onSessions
                      ? Grant.onSession(
                          claim, tokens, now, validityPerConfirmation(claim), claim.ttl())
                      : new Grant(claim, tokens, until, claim.ttl(), claim.ttl(), true));
        }
      }
      hook.after();
      return attempt;
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
      return renewAll(List.of(grant), deadline).get(0);
    }

    @Override
    public int maxGrantsPerRenewal() {
      return 256;
    }

    @Override
    public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
        throws InterruptedException {
      synchronized (FakeStore.this) {
        batches.add(grants.size());
        renewalTimeouts.add(deadline.remaining());
        maxRenewing = Math.max(maxRenewing, renewing.incrementAndGet());
      }
      try {
        CallHook hook = arriveOpen(Op.RENEW);
        List<Renewal> outcomes = new ArrayList<>();
        synchronized (FakeStore.this) {
          long now = time.nanoTime();
          for (Grant grant : grants) {
            Claim claim = grant.claim();
            Hold hold = hold(claim);
            if (hold == null) {
              outcomes.add(new Renewal.Lost(LossReason.TAKEN, "not there"));
            } else {
              long until = now + claim.ttl().toNanos();
              put(claim.name(), hold.until(until));
              outcomes.add(new Renewal.Renewed(now + validityPerConfirmation(claim).toNanos()));
            }
          }
        }
        hook.after();
        return outcomes;
      } finally {
        renewing.decrementAndGet();
      }
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      releaseTimeout = deadline.remaining();
      CallHook hook = arriveOpen(Op.RELEASE);
      boolean existed;
      synchronized (FakeStore.this) {
        existed = hold(claim) != null;
        if (existed) {
          remove(claim);
          watchers.getOrDefault(claim.name(), List.of()).forEach(WakeUp::signal);
        }
      }
      hook.after();
      return existed;
    }

    @Override
    public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
        throws InterruptedException {
      CallHook hook = arriveOpen(Op.DEFER);
      boolean existed;
      synchronized (FakeStore.this) {
        Hold hold = hold(claim);
        existed = hold != null || hold(claim.name(), claim.deferredId()) != null;
        if (hold != null) {
          long until = time.nanoTime() + delay.toNanos();
          remove(claim);
          put(
              claim.name(),
              new Hold(claim.deferredId(), hold.share(), until, hold.token(), hold.label()));
          watchers.getOrDefault(claim.name(), List.of()).forEach(WakeUp::signal);
        }
      }
      hook.after();
      return existed;
    }

    @Override
    public Watch watch(String name, WakeUp wakeUp) {
      synchronized (FakeStore.this) {
        if (watchesFail) {
          throw noAnswer();
        }
        watchers.computeIfAbsent(name, n -> new ArrayList<>()).add(wakeUp);
      }
      wakeUp.signal();
      return () -> {
        synchronized (FakeStore.this) {
          watchers.get(name).remove(wakeUp);
          if (unwatchingFails) {
            throw new IllegalArgumentException("a bug of the backend's");
          }
        }
      };
    }

    @Override
    public LockState inspect(String name, Deadline deadline) throws InterruptedException {
      CallHook hook = arriveOpen(Op.INSPECT);
      LockState state = state(name);
      hook.after();
      return state;
    }

    private LockState state(String name) {
      synchronized (FakeStore.this) {
        List<Hold> live = live(name);
        if (live.isEmpty()) {
          return LockStates.free(name);
        }
        Share share = live.get(0).share();
        return LockStates.held(
            name,
            share.kind(),
            share.capacity(),
            live.stream()
                .map(
                    hold ->
                        LockStates.holder(
                            hold.share().kind(),
                            hold.share().weight(),
                            hold.label(),
                            hold.token(),
                            null,
                            null))
                .toList(),
            List.of());
      }
    }

    @Override
    public boolean forceRelease(String name, Deadline deadline) {
      synchronized (FakeStore.this) {
        boolean existed = !holds.getOrDefault(name, List.of()).isEmpty();
        free(name);
        return existed;
      }
    }

    @Override
    public boolean endSession(
        Claim claim, Duration refusedFor, LockConfigurationException refusal) {
      synchronized (FakeStore.this) {
        throwNextError();
        endedSessions.add(claim);
        remove(claim);
        return false;
      }
    }

    @Override
    public void forget(Claim claim) {
      synchronized (FakeStore.this) {
        throwNextError();
        forgotten.add(claim);
      }
    }

    @Override
    public void close() {
      closed = true;
    }
  }
}
