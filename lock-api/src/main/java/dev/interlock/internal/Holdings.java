package dev.interlock.internal;

import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.Claim;
import dev.interlock.spi.TimeSource;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The grants that a client holds and the attempts that it makes. A grant that takes all of its name
 * belongs to the head of the name's local queue. Readers and permits, of which a name may have
 * several, are kept by the identities of their claims.
 */
final class Holdings implements Engine.Ledger {

  /** The number of local queues up to which those without a head are kept. */
  private static final int MAX_IDLE_QUEUES = 64;

  final LocalQueue.Index queues = new LocalQueue.Index(MAX_IDLE_QUEUES);
  private final ConcurrentHashMap<String, HeldGrant> partialGrants = new ConcurrentHashMap<>();

  /** The attempts to which losses are reported until their leases have begun. */
  private final ConcurrentHashMap<String, StoreAttempt> attempts = new ConcurrentHashMap<>();

  final Engine engine;
  private final SleepWatch sleepWatch = new SleepWatch();

  Holdings(BackendFactory factory, LockOptions options, TimeSource time) {
    this.engine = new Engine(factory, options, time, this);
  }

  void add(HeldGrant grant) {
    if (grant.isWhole()) {
      queues.of(grant.name()).setGrant(grant);
    } else {
      partialGrants.put(grant.grant().claim().id(), grant);
    }
    sleepWatch.watchSleep();
  }

  void remove(HeldGrant grant) {
    if (grant.isWhole()) {
      queues.of(grant.name()).clearGrant(grant);
    } else {
      partialGrants.remove(grant.grant().claim().id(), grant);
    }
    engine.timer.cancel(grant);
    engine.signalEnd();
  }

  void addAttempt(Claim claim, StoreAttempt attempt) {
    if (!claim.share().isWhole()) {
      attempts.put(claim.id(), attempt);
    }
  }

  /** Ends the reports of losses to the attempt of a claim. */
  void removeAttempt(Claim claim) {
    if (!claim.share().isWhole()) {
      attempts.remove(claim.id());
    }
  }

  /** Ends the current head, and makes the next waiter the head. */
  void promoteNext(String name) {
    queues.of(name).promoteNext();
    engine.signalEnd();
  }

  @Override
  public void reportLoss(Claim claim, LossReason reason, String detail) {
    // A lease may begin at this moment: either it sees the loss that its attempt recorded, or it is
    // found here.
    LocalQueue queue = queues.of(claim.name());
    Contender contender = queue.contender();
    StoreAttempt attempt = contender == null ? null : contender.attempt();
    if (attempt == null || !attempt.claim().isSame(claim)) {
      attempt = claim.share().isWhole() ? null : attempts.get(claim.id());
    }
    if (attempt != null) {
      attempt.recordLoss(reason, detail);
    }
    HeldGrant grant = claim.share().isWhole() ? queue.grant() : partialGrants.get(claim.id());
    if (grant != null && grant.grant().claim().isSame(claim)) {
      grant.reportLoss(reason, detail);
    }
  }

  @Override
  public @Nullable String holder(String name) {
    HeldGrant grant = queues.of(name).grant();
    return grant == null
        ? null
        : grant.leases().stream().findFirst().map(lease -> lease.request().label()).orElse(null);
  }

  Stream<HeldGrant> grants() {
    return Stream.concat(queues.grants(), partialGrants.values().stream());
  }

  boolean hasGrants() {
    return grants().findAny().isPresent();
  }

  boolean hasAttempts() {
    return queues.contenders().findAny().isPresent() || !attempts.isEmpty();
  }

  /** Ends the attempts, because the client is being closed. */
  void stopAttempts() {
    queues.contenders().forEach(Contender::stopWaiting);
    attempts.values().forEach(StoreAttempt::stopWaiting);
  }

  /** Returns the number of names and attempts that the client keeps state for. */
  int size() {
    return queues.size() + partialGrants.size() + attempts.size();
  }

  /**
   * Checks once a second, while something is held, whether a lease has ended while the machine
   * slept, or must be renewed after that: the monotonic clock of the timer stood still (LOSS-02,
   * LEASE-07).
   */
  private final class SleepWatch extends Timer.Event {
    private static final long PERIOD_NANOS = 1_000_000_000;

    private final AtomicBoolean scheduled = new AtomicBoolean();

    void watchSleep() {
      if (scheduled.compareAndSet(false, true)) {
        try {
          engine.timer.schedule(this, engine.platform.nanoTime() + PERIOD_NANOS);
        } catch (Throwable e) {
          scheduled.set(false);
          throw e;
        }
      }
    }

    @Override
    void fire(long now) {
      long wall = engine.platform.wallMillis();
      grants()
          .filter(grant -> grant.mayBeOverdue(wall, now))
          .forEach(grant -> engine.timer.schedule(grant, now));
      scheduled.set(false);
      if (size() > 0) {
        watchSleep();
      }
    }
  }
}
