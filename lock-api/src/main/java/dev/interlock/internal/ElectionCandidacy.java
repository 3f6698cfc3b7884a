package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Campaigns, leads, resigns, and campaigns again, until it is closed.
 *
 * <p>One thread does all of it in turn, so the work ends before the release, and the release before
 * the next campaign. Neither the work nor the store can end the thread: a failure is recorded and
 * logged, and the next turn follows after a pause.
 *
 * <p>Only campaigns, work and pauses are interrupted. An interrupted release would not be
 * confirmed, and the next leader would have to wait for the TTL.
 */
final class ElectionCandidacy implements LeaderElection.Candidacy {

  /**
   * The lease that the work gets. It is no longer held once the candidate withdraws, so that work
   * that checks {@link #isHeld()} ends; the lock stays taken until the work has ended, so that no
   * other leader begins before.
   */
  private final class Leadership extends LeaseHandle {
    private final LeaseState state;

    Leadership(LeaseState state) {
      super(state);
      this.state = state;
    }

    @Override
    public boolean isHeld() {
      return !withdrawn && super.isHeld();
    }

    @Override
    public Duration remainingValidity() {
      return withdrawn ? Duration.ZERO : super.remainingValidity();
    }

    @Override
    public void ensureHeld() {
      super.ensureHeld();
      if (withdrawn) {
        throw new IllegalStateException(
            "the leadership of \"" + name() + "\" is ending: its candidacy was closed");
      }
    }

    @Override
    public String toString() {
      return super.toString() + (withdrawn ? " (withdrawn)" : "");
    }
  }

  /** Work that takes less is followed by a pause, and does not make the next one short again. */
  private static final Duration MIN_WORK = Duration.ofSeconds(1);

  private final Engine engine;
  private final Set<ElectionCandidacy> all;
  private final LockHandle lock;
  private final LeaderElection.LeaderWork work;
  private final Thread thread;

  /** For the pauses between turns; signalled when it is withdrawn. */
  private final WakeUp pauses;

  private final Backoff backoff;

  private final Duration closeTimeout;

  /** Until when all closes wait for the work; set by the first. */
  @GuardedBy("this")
  private @Nullable Deadline closeBy;

  private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();

  /** Changes under the monitor. */
  private volatile boolean withdrawn;

  /** Whether the thread is in a step that an interrupt ends. */
  @GuardedBy("this")
  private boolean interruptible;

  /** The lease of the work while it is in progress, or null. */
  private volatile @Nullable Leadership leadership;

  private volatile @Nullable Throwable failureOfCampaign;
  private volatile @Nullable Throwable failureOfWork;

  private ElectionCandidacy(
      Set<ElectionCandidacy> all,
      Acquirer acquirer,
      String name,
      LockOptions options,
      LeaderElection.LeaderWork work) {
    this.engine = acquirer.engine;
    this.all = all;
    // Waiting long for leadership is not a failure.
    LockOptions unlimited = options.toBuilder().waitTimeout(null).build();
    this.lock = new LockHandle(acquirer, name, Share.EXCLUSIVE, unlimited);
    this.work = work;
    this.thread = engine.platform.thread(engine.backend.name() + "-candidate", this::run);
    this.pauses = new WakeUp(engine.platform);
    this.backoff = new Backoff(engine.platform, options.ttl());
    this.closeTimeout = options.ttl().plus(options.requestTimeout());
  }

  /**
   * Begins to campaign.
   *
   * @param all the client's candidacies, of which it is one until it has ended
   */
  static ElectionCandidacy start(
      Set<ElectionCandidacy> all,
      Acquirer acquirer,
      String name,
      LockOptions options,
      LeaderElection.LeaderWork work) {
    StackRoom.require();
    ElectionCandidacy candidacy = new ElectionCandidacy(all, acquirer, name, options, work);
    all.add(candidacy);
    try {
      // After it was added: from here on, closing the client withdraws it.
      acquirer.engine.ensureOpen();
      candidacy.thread.start();
      return candidacy;
    } catch (Throwable e) {
      candidacy.end();
      throw e;
    }
  }

  private void run() {
    try {
      while (!isOver()) {
        boolean pauses = true;
        try {
          pauses = takeTurn();
        } catch (Throwable e) {
          Timer.failed("the turn of a candidate", e);
        }
        if (pauses && !isOver()) {
          pause();
        }
      }
    } finally {
      end();
    }
  }

  private void end() {
    all.remove(this);
    ended.complete(null);
    engine.signalEnd();
  }

  /** One campaign, and one leadership if it succeeds. Returns whether a pause follows. */
  private boolean takeTurn() {
    Leadership elected = campaign();
    if (elected == null) {
      return true;
    }
    try {
      return lead(elected);
    } finally {
      resign(elected);
    }
  }

  // --- its steps ------------------------------------------------------------------------------

  private @Nullable Leadership campaign() {
    try {
      Leadership elected =
          interruptibly(
              () -> BlockingAcquisition.acquire(lock.acquirer, lock.untilHad(), Leadership::new));
      failureOfCampaign = null;
      return elected;
    } catch (Throwable e) {
      if (!isOver()) {
        boolean first = failureOfCampaign == null;
        failureOfCampaign = e;
        engine.leaseLog.write(
            () -> {
              if (first) {
                Engine.log.warn(
                    "a campaign for \"{}\" failed; trying again: {}", name(), String.valueOf(e));
              }
              Engine.log.debug("a campaign for \"{}\" failed", name(), e);
            });
      }
      return null;
    }
  }

  /** Returns whether a pause follows: the work failed, or returned almost at once. */
  private boolean lead(Leadership elected) {
    long since = engine.platform.nanoTime();
    try {
      interruptibly(
          () ->
              elected.callWhileHeld(
                  () -> {
                    leadership = elected;
                    // Whoever withdraws it either sees the leadership, or is seen here.
                    ensureStanding();
                    work.lead(elected);
                    failureOfWork = null;
                    return true;
                  }));
      return !isLong(since);
    } catch (Throwable e) { // work in other languages may throw anything
      var unused = isLong(since);
      if (leadership == null || isEndedFromOutside(elected, e)) {
        Engine.log.debug(
            "a loss or a withdrawal ended the work of the leader of \"{}\"", name(), e);
        return false;
      }
      failureOfWork = e;
      engine.leaseLog.write(
          () -> Engine.log.warn("the work of the leader of \"{}\" failed", name(), e));
      return true;
    } finally {
      leadership = null;
    }
  }

  /** Whether the work was long; then the next pause is short again. */
  private boolean isLong(long since) {
    boolean isLong = engine.platform.nanoTime() - since >= MIN_WORK.toNanos();
    if (isLong) {
      backoff.reset();
    }
    return isLong;
  }

  /** Whether the work ended because of the loss or the withdrawal. */
  private boolean isEndedFromOutside(Leadership elected, Throwable failure) {
    return !(failure instanceof Error)
        && (elected.state.loss() != null || (failure instanceof InterruptedException && isOver()));
  }

  /** Never gives up: a lease that is not released would be renewed, and nobody would lead. */
  private void resign(Lease lease) {
    while (true) {
      try {
        lease.release();
        return;
      } catch (Throwable e) {
        Timer.failed("resigning a leadership", e);
        pause();
      }
    }
  }

  /** Pauses until some time has passed, or it is withdrawn. Never throws. */
  private void pause() {
    try {
      var unused = pauses.await(engine.in(backoff.next()));
    } catch (Throwable e) {
      // An interrupt, or no memory. What follows tries again.
      return;
    }
  }

  /** Runs a step that is interrupted when this is closed. */
  private <T> T interruptibly(Callable<T> step) throws Exception {
    setInterruptible(true);
    try {
      ensureStanding();
      return step.call();
    } finally {
      setInterruptible(false);
    }
  }

  /** Also clears an interrupt status that the step before has left: it was meant for that. */
  private synchronized void setInterruptible(boolean value) {
    interruptible = value;
    var unused = Thread.interrupted();
  }

  private void ensureStanding() throws InterruptedException {
    if (isOver()) {
      throw new InterruptedException();
    }
  }

  private boolean isOver() {
    return withdrawn || engine.isClosed();
  }

  // --- what others see and do -----------------------------------------------------------------

  String name() {
    return lock.name();
  }

  boolean isOwn(Thread caller) {
    return caller == thread;
  }

  @Override
  public boolean isLeader() {
    Leadership current = leadership;
    return current != null && current.isHeld();
  }

  @Override
  public Optional<Throwable> failure() {
    Throwable failure = failureOfCampaign;
    if (failure == null && leadership == null && !isOver()) {
      Contender contender = lock.acquirer.queues.of(name()).contender();
      failure = contender == null ? null : contender.trouble();
    }
    return Optional.ofNullable(failure == null ? failureOfWork : failure);
  }

  /** Begins to end the candidacy, without waiting. */
  synchronized void withdraw() {
    if (withdrawn) {
      return;
    }
    withdrawn = true;
    pauses.signal();
    if (interruptible && !isOwn(Thread.currentThread())) {
      thread.interrupt();
    }
  }

  @Override
  public void close() {
    withdraw();
    Deadline patience = closeBy();
    if (isOwn(Thread.currentThread())
        || Awaiting.doneUninterruptibly(engine.platform, ended, patience)) {
      return;
    }
    Leadership unfinished = leadership;
    if (unfinished != null) {
      // Others lead once it has expired.
      unfinished.abandon("its candidacy was closed, but the work of the leader has not ended");
    }
  }

  private synchronized Deadline closeBy() {
    if (closeBy == null) {
      closeBy = engine.in(closeTimeout);
    }
    return closeBy;
  }

  @Override
  public String toString() {
    return "Candidacy[" + name() + " on " + engine.store.endpoint() + "]";
  }
}
