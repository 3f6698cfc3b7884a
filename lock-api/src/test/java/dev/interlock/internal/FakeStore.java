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
 * A server without a queue, for one JVM, that does what a test tells it: fail, lose replies, be
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

  /** What happens to a call. */
  interface Fate {
    /** Called before the server does anything. */
    void before() throws InterruptedException;

    /** Called when it has done it, before the reply. */
    default void after() {}
  }

  /** Stops one call until it is let go. */
  static final class Gate implements Fate {
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
  private final Map<Op, Fate> next = new EnumMap<>(Op.class);
  private final Map<Op, AtomicInteger> calls = new EnumMap<>(Op.class);
  private final List<Integer> batches = new ArrayList<>();
  private final List<Duration> patience = new ArrayList<>();
  private final AtomicInteger renewing = new AtomicInteger();
  private int mostRenewing;
  private long tokens;
  private volatile @Nullable Claim lastClaim;
  private volatile Duration budget = Duration.ZERO;
  private volatile Duration releaseBudget = Duration.ZERO;
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

  /** From now on nobody may do anything, until somebody sets that right. */
  synchronized void refuse(boolean refuse) {
    refusing = refuse;
  }

  /** The claims of all attempts, in their order. */
  synchronized List<Claim> attempted() {
    return List.copyOf(attempted);
  }

  /** The claims that the engine has done with, in the order in which it said so. */
  synchronized List<Claim> forgotten() {
    return List.copyOf(forgotten);
  }

  /** The next thing that the backend is told rather than asked fails with this. */
  synchronized void failOnce(Error error) {
    nextError = error;
  }

  private void failIfTold() {
    Error error = nextError;
    nextError = null;
    if (error != null) {
      throw error;
    }
  }

  /** The claims whose session was to be ended. */
  synchronized List<Claim> endedSessions() {
    return List.copyOf(endedSessions);
  }

  /** From now on grants hang on sessions: nothing ends them on the server while those live. */
  synchronized void onSessions() {
    onSessions = true;
  }

  /** The same, and each answer makes a session certain for only so long. */
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

  /** Has the fault of failing when it should end a watch. */
  synchronized void unwatchingFails(boolean fails) {
    unwatchingFails = fails;
  }

  /** Clients opened from now on can leave the rest of a minimum hold to it. */
  synchronized void defersReleases() {
    defersReleases = true;
  }

  /** What a busy server answers from now on for when to look again. */
  synchronized void hint(Duration pollInterval) {
    hint = pollInterval;
  }

  /** Decides over the next call of the kind. */
  synchronized void next(Op op, Fate fate) {
    next.put(op, fate);
  }

  /** From now on each call of the kind takes so long. */
  void slow(Op op, Duration duration) {
    next(
        op,
        () -> {
          time.pass(duration);
          slow(op, duration);
        });
  }

  /** Carries the next call of the kind out, and loses the reply. */
  void loseReply(Op op) {
    loseReply(op, Duration.ZERO);
  }

  /** The same, after a while. */
  void loseReply(Op op, Duration duration) {
    next(
        op,
        new Fate() {
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

  /** Carries each call of the kind out, and loses its reply. */
  void loseEachReply(Op op) {
    next(
        op,
        new Fate() {
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
    next(op, gate);
    return gate;
  }

  /** The claim of the last attempt. */
  @Nullable Claim lastClaim() {
    return lastClaim;
  }

  /** How long the last attempt was given. */
  Duration budget() {
    return budget;
  }

  /** How long the last release was given. */
  Duration releaseBudget() {
    return releaseBudget;
  }

  int calls(Op op) {
    return calls.get(op).get();
  }

  synchronized List<Integer> batches() {
    return List.copyOf(batches);
  }

  /** How long each request for renewals might take. */
  synchronized List<Duration> patience() {
    return List.copyOf(patience);
  }

  synchronized int mostRenewing() {
    return mostRenewing;
  }

  synchronized boolean holds(String name) {
    return !live(name).isEmpty();
  }

  /** How many hold the name together. */
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

  /** Somebody deletes the lock behind the holder's back. */
  synchronized void delete(String name) {
    holds.remove(name);
  }

  /** Takes the lock away from whoever got it last, and tells them. */
  void tellLoss(String name, LossReason reason) {
    Consumer<LossReason> holder;
    synchronized (this) {
      holds.remove(name);
      holder = holders.get(name);
    }
    holder.accept(reason);
  }

  /** Somebody else holds the lock. */
  synchronized void occupy(String name, Duration ttl) {
    occupy(name, Share.EXCLUSIVE, ttl);
  }

  /** Somebody else holds a share of the name. */
  synchronized void occupy(String name, Share share, Duration ttl) {
    long until = time.nanoTime() + ttl.toNanos();
    put(name, new Hold("somebody", share, until, ++tokens, "somebody"));
  }

  /** A request to acquire arrives that was held up on its way, and given up by its sender. */
  synchronized void arrive(Claim heldUp) {
    long until = time.nanoTime() + heldUp.ttl().toNanos();
    put(heldUp.name(), new Hold(heldUp.id(), heldUp.share(), until, ++tokens, heldUp.label()));
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

  private Fate arrive(Op op) throws InterruptedException {
    Fate fate;
    synchronized (this) {
      calls.get(op).incrementAndGet();
      fate = next.remove(op);
    }
    if (fate != null) {
      fate.before();
    }
    synchronized (this) {
      if (down) {
        throw noAnswer();
      }
      if (refusing) {
        throw new LockConfigurationException("fake at nowhere:1: no permission", null);
      }
    }
    return fate == null ? () -> {} : fate;
  }

  private final class Backend implements LockBackend {
    private final BackendContext context;
    private volatile boolean closed;

    Backend(BackendContext context) {
      this.context = context;
    }

    private Fate arriveOpen(Op op) throws InterruptedException {
      Fate fate = arrive(op);
      if (closed) {
        throw noAnswer();
      }
      return fate;
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
      budget = deadline.remaining();
      synchronized (FakeStore.this) {
        attempted.add(claim);
      }
      Fate fate = arriveOpen(Op.ACQUIRE);
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
          long left = live.get(0).until() - now;
          attempt = new Attempt.Busy(hint == null ? Duration.ofNanos(left) : hint);
        } else {
          long until = now + claim.ttl().toNanos();
          put(claim.name(), new Hold(claim.id(), claim.share(), until, ++tokens, claim.label()));
          holders.put(
              claim.name(), reason -> context.reportLoss(claim, reason, "told by the server"));
          // Counted from here, which is too late: the engine must put it right.
          attempt =
              new Attempt.Granted(
                  onSessions
                      ? Grant.onSession(
                          claim, tokens, now, validityPerConfirmation(claim), claim.ttl())
                      : Grant.expiring(claim, tokens, until, claim.ttl()));
        }
      }
      fate.after();
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
        patience.add(deadline.remaining());
        mostRenewing = Math.max(mostRenewing, renewing.incrementAndGet());
      }
      try {
        Fate fate = arriveOpen(Op.RENEW);
        List<Renewal> outcomes = new ArrayList<>();
        synchronized (FakeStore.this) {
          long now = time.nanoTime();
          for (Grant grant : grants) {
            Claim claim = grant.claim();
            Hold hold = hold(claim);
            if (hold == null) {
              outcomes.add(new Renewal.Gone(LossReason.TAKEN, "not there"));
            } else {
              long until = now + claim.ttl().toNanos();
              put(claim.name(), hold.until(until));
              outcomes.add(new Renewal.Renewed(now + validityPerConfirmation(claim).toNanos()));
            }
          }
        }
        fate.after();
        return outcomes;
      } finally {
        renewing.decrementAndGet();
      }
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      releaseBudget = deadline.remaining();
      Fate fate = arriveOpen(Op.RELEASE);
      boolean held;
      synchronized (FakeStore.this) {
        held = hold(claim) != null;
        if (held) {
          remove(claim);
          watchers.getOrDefault(claim.name(), List.of()).forEach(WakeUp::signal);
        }
      }
      fate.after();
      return held;
    }

    @Override
    public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
        throws InterruptedException {
      Fate fate = arriveOpen(Op.DEFER);
      boolean held;
      synchronized (FakeStore.this) {
        Hold hold = hold(claim);
        held = hold != null || hold(claim.name(), claim.deferredId()) != null;
        if (hold != null) {
          long until = time.nanoTime() + delay.toNanos();
          remove(claim);
          put(
              claim.name(),
              new Hold(claim.deferredId(), hold.share(), until, hold.token(), hold.label()));
          watchers.getOrDefault(claim.name(), List.of()).forEach(WakeUp::signal);
        }
      }
      fate.after();
      return held;
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
      Fate fate = arriveOpen(Op.INSPECT);
      LockState state = state(name);
      fate.after();
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
        boolean held = !holds.getOrDefault(name, List.of()).isEmpty();
        free(name);
        return held;
      }
    }

    @Override
    public boolean endSession(
        Claim claim, Duration refusedFor, LockConfigurationException refusal) {
      synchronized (FakeStore.this) {
        failIfTold();
        endedSessions.add(claim);
        remove(claim);
        return false;
      }
    }

    @Override
    public void forget(Claim claim) {
      synchronized (FakeStore.this) {
        failIfTold();
        forgotten.add(claim);
      }
    }

    @Override
    public void close() {
      closed = true;
    }
  }
}
