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
 * What a client holds on the store and what it asks it for. A grant that takes all of its name is
 * that of the head of the name's local queue; readers and permits, of which there may be several,
 * are kept by the identities of their claims.
 */
final class Holdings implements Engine.Ledger {

  /** With no more names in the local queue than this, those without a head stay there. */
  private static final int KEPT_NAMES = 64;

  final LocalQueue.Index queues = new LocalQueue.Index(KEPT_NAMES);
  private final ConcurrentHashMap<String, HeldGrant> parts = new ConcurrentHashMap<>();

  /** For losses that the store reports before the lease has begun. */
  private final ConcurrentHashMap<String, StoreAttempt> attempts = new ConcurrentHashMap<>();

  final Engine engine;
  private final SleepWatch sleepWatch = new SleepWatch();

  Holdings(BackendFactory factory, LockOptions options, TimeSource time) {
    this.engine = new Engine(factory, options, time, this);
  }

  void add(HeldGrant grant) {
    if (grant.isWhole()) {
      queues.of(grant.name()).begin(grant);
    } else {
      parts.put(grant.grant().claim().id(), grant);
    }
    sleepWatch.watchSleep();
  }

  /** The grant has ended. */
  void remove(HeldGrant grant) {
    if (grant.isWhole()) {
      queues.of(grant.name()).end(grant);
    } else {
      parts.remove(grant.grant().claim().id(), grant);
    }
    engine.timer.cancel(grant);
    engine.signalEnd();
  }

  void begin(Claim claim, StoreAttempt attempt) {
    if (!claim.share().isWhole()) {
      attempts.put(claim.id(), attempt);
    }
  }

  /** From here on, a loss is no longer reported to the attempt. */
  void end(Claim claim) {
    if (!claim.share().isWhole()) {
      attempts.remove(claim.id());
    }
  }

  /** Makes the next waiter the head, when the current head is done. */
  void endTurn(String name) {
    queues.of(name).endTurn();
    engine.signalEnd();
  }

  @Override
  public void reportLoss(Claim claim, LossReason reason, String detail) {
    // A lease may begin just now: either before the loss was recorded by its attempt, or after,
    // and then sees the loss.
    LocalQueue queue = queues.of(claim.name());
    Contender contender = queue.contender();
    StoreAttempt attempt = contender == null ? null : contender.attempt();
    if (attempt == null || !attempt.claim().isSame(claim)) {
      attempt = claim.share().isWhole() ? null : attempts.get(claim.id());
    }
    if (attempt != null) {
      attempt.noteLoss(reason, detail);
    }
    HeldGrant grant = claim.share().isWhole() ? queue.grant() : parts.get(claim.id());
    if (grant != null && grant.grant().claim().isSame(claim)) {
      grant.lose(reason, detail);
    }
  }

  @Override
  public @Nullable String holder(String name) {
    HeldGrant grant = queues.of(name).grant();
    return grant == null
        ? null
        : grant.leases().stream().findFirst().map(lease -> lease.request().holder()).orElse(null);
  }

  Stream<HeldGrant> grants() {
    return Stream.concat(queues.grants(), parts.values().stream());
  }

  boolean hasGrants() {
    return grants().findAny().isPresent();
  }

  /** Whether an acquisition asks the store. */
  boolean hasAttempts() {
    return queues.contenders().findAny().isPresent() || !attempts.isEmpty();
  }

  /** Ends the attempts, because the client is being closed. */
  void stopAttempts() {
    queues.contenders().forEach(Contender::stop);
    attempts.values().forEach(StoreAttempt::stopWaiting);
  }

  /** Returns how many names the client keeps state for. */
  int size() {
    return queues.size() + parts.size() + attempts.size();
  }

  /**
   * Checks once a second, while something is held, whether a lease has ended while the machine
   * slept, or has to be renewed after that: the monotonic clock of the timer stood still (LOSS-02,
   * LEASE-07).
   */
  private final class SleepWatch extends Timer.Event {
    private static final long PERIOD = 1_000_000_000;

    private final AtomicBoolean on = new AtomicBoolean();

    void watchSleep() {
      if (on.compareAndSet(false, true)) {
        try {
          engine.timer.schedule(this, engine.platform.nanoTime() + PERIOD);
        } catch (Throwable e) {
          on.set(false);
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
      on.set(false);
      if (size() > 0) {
        watchSleep();
      }
    }
  }
}
