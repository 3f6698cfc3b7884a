package dev.interlock.memory;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** One client's view of a {@link MemoryStore}. */
final class MemoryBackend implements QueueingBackend {

  static final BackendInfo INFO =
      BackendInfoBuilder.of("memory", "a table inside this JVM, first come first served")
          .capabilities(
              Capability.FENCING,
              Capability.FIFO,
              Capability.SINGLE_WAKEUP,
              Capability.REVOKE,
              Capability.LIST,
              Capability.READ_WRITE,
              Capability.SEMAPHORE,
              Capability.DEFERRED_RELEASE)
          .minTtl(Duration.ofMillis(1))
          .guarantee(
              Guarantee.NOT_APPLICABLE,
              Fault.CLIENT_KILLED,
              Fault.CONNECTION_LOST,
              Fault.PARTITION,
              Fault.SERVER_STOPPED,
              Fault.SERVER_RESTARTED,
              Fault.SERVER_RESTARTED_EMPTY,
              Fault.ASYNC_FAILOVER,
              Fault.MINORITY_LOST,
              Fault.LEADER_CHANGED,
              Fault.SERVER_CLOCK_STEPPED,
              Fault.EVICTION)
          .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CLIENT_STOPPED, Fault.MACHINE_SUSPENDED)
          .guarantee(Guarantee.TOKENS_ONLY, Fault.FORCED_RELEASE)
          .build();

  private final String storeName;
  private final MemoryStore store;
  private final BackendContext context;
  private final AtomicBoolean closed = new AtomicBoolean();

  MemoryBackend(String storeName, BackendContext context) {
    this.storeName = storeName;
    this.context = context;
    this.store = MemoryStore.open(storeName);
  }

  @Override
  public BackendInfo info() {
    return INFO;
  }

  @Override
  public String endpoint() {
    return storeName;
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) {
    Waiting place = new Waiting(claim);
    store.tryAcquire(place, now());
    return place.answer(deadline);
  }

  @Override
  public Place join(Claim claim, Deadline deadline) {
    Waiting place = new Waiting(claim);
    store.join(place, now());
    return place;
  }

  private long now() {
    return context.time().nanoTime();
  }

  private final class Waiting extends MemoryStore.Place implements Place {
    private volatile boolean isClosed;

    Waiting(Claim claim) {
      super(claim);
    }

    @Override
    TimeSource time() {
      return context.time();
    }

    @Override
    void reportLoss(LossReason reason, String detail) {
      context.reportLoss(claim(), reason, detail);
    }

    @Override
    public boolean hasPredecessor() {
      return !isGranted();
    }

    @Override
    public Attempt await(Deadline deadline) throws InterruptedException {
      WakeUp wakeUp = wakeUp();
      while (wakeUp != null && !isGranted() && !deadline.hasPassed()) {
        if (isClosed || closed.get()) {
          throw new LockUnavailableException(INFO.name(), storeName, "closed", null);
        }
        // Nothing happens when the holder's TTL ends, so a waiter checks then and moves the queue
        // on.
        long end = store.settle(claim().name(), now());
        if (!isGranted()) {
          wakeUp.await(Deadline.at(time(), earlier(end, deadline.nanos())));
        }
      }
      return answer(deadline);
    }

    private Attempt answer(Deadline pollInterval) {
      if (!isGranted()) {
        String holder =
            store
                .inspect(claim().name(), now())
                .holder()
                .flatMap(LockState.Holder::label)
                .orElse(null);
        return new Attempt.Busy(pollInterval.remaining(), holder);
      }
      // Nobody renews it before this answer. The store has the client's clock, so there is no
      // margin.
      Duration ttl = claim().ttl();
      return new Attempt.Granted(new Grant(claim(), token(), expiresAt(), ttl, ttl, true));
    }

    private static long earlier(long a, long b) {
      return a - b < 0 ? a : b;
    }

    @Override
    public void close() {
      isClosed = true;
      signal();
    }
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) {
    Claim claim = grant.claim();
    long now = now();
    return store.renew(claim, now)
        ? new Renewal.Renewed(now + claim.ttl().toNanos())
        : new Renewal.Lost(LossReason.TAKEN, "the store no longer has the lock for this lease");
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) {
    return store.release(claim, now());
  }

  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline) {
    return store.releaseAfter(claim, delay, now());
  }

  @Override
  public LockState inspect(String name, Deadline deadline) {
    return store.inspect(name, now());
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline) {
    return store.list(prefix, cursor, limit, now());
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) {
    return store.forceRelease(name, now());
  }

  @Override
  public boolean revoke(String name, Deadline deadline) {
    return store.revoke(name, now());
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      store.wakeAll();
      store.close();
    }
  }
}
