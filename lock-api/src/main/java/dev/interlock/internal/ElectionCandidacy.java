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
 * <p>One thread does all of this in turn, so the work ends before the release, and the release
 * before the next campaign. Neither the work nor the store can end the thread: a failure is
 * recorded and logged, and the next campaign follows after a pause.
 *
 * <p>Only campaigns, work and pauses are interrupted. An interrupted release would not be
 * confirmed, and the next leader would have to wait for the TTL.
 */
final class ElectionCandidacy implements LeaderElection.Candidacy {

  /**
   * The lease that the work gets. Once the candidacy is withdrawn the lease is no longer held, so
   * that work that checks {@link #isHeld()} ends. The lock stays taken until the work has ended, so
   * that no other leader begins before.
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

  /** Work that takes less time is followed by a pause, and these pauses grow. */
  private static final Duration MIN_WORK_TIME = Duration.ofSeconds(1);

  private final Engine engine;
  private final Set<ElectionCandidacy> candidacies;
  private final LockHandle lock;
  private final LeaderElection.LeaderWork work;
  private final Thread thread;

  /** Ends the pauses between campaigns; signalled on withdrawal. */
  private final WakeUp pauses;

  private final Backoff backoff;

  private final Duration closeTimeout;

  /** The deadline of all closes; set by the first. */
  @GuardedBy("this")
  private @Nullable Deadline closeDeadline;

  private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();

  /** Changes under the monitor. */
  private volatile boolean withdrawn;

  /** Whether an interrupt may end the current step of the thread. */
  @GuardedBy("this")
  private boolean interruptible;

  /** The lease of the work in progress, or null. */
  private volatile @Nullable Leadership leadership;

  private volatile @Nullable Throwable campaignFailure;
  private volatile @Nullable Throwable workFailure;

  private ElectionCandidacy(
      Set<ElectionCandidacy> candidacies,
      Acquirer acquirer,
      String name,
      LockOptions options,
      LeaderElection.LeaderWork work) {
    this.engine = acquirer.engine;
    this.candidacies = candidacies;
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
   * Starts a candidacy.
   *
   * @param candidacies the candidacies of the client; this one is a member until it has ended
   */
  static ElectionCandidacy start(
      Set<ElectionCandidacy> candidacies,
      Acquirer acquirer,
      String name,
      LockOptions options,
      LeaderElection.LeaderWork work) {
    StackRoom.require();
    ElectionCandidacy candidacy = new ElectionCandidacy(candidacies, acquirer, name, options, work);
    candidacies.add(candidacy);
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
          pauses = campaignAndLead();
        } catch (Throwable e) {
          Timer.logFailure("the campaign of a candidate", e);
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
    candidacies.remove(this);
    ended.complete(null);
    engine.signalEnd();
  }

  /** Campaigns once, and leads if elected. Returns whether a pause follows. */
  private boolean campaignAndLead() {
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
              () ->
                  BlockingAcquisition.acquire(
                      lock.acquirer, lock.acquireRequest(), Leadership::new));
      campaignFailure = null;
      return elected;
    } catch (Throwable e) {
      if (!isOver()) {
        boolean first = campaignFailure == null;
        campaignFailure = e;
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
    long begunAt = engine.platform.nanoTime();
    try {
      interruptibly(
          () ->
              elected.callWhileHeld(
                  () -> {
                    leadership = elected;
                    // A withdrawal either sees the leadership, or is seen here.
                    ensureActive();
                    work.lead(elected);
                    workFailure = null;
                    return true;
                  }));
      return !resetBackoffIfLong(begunAt);
    } catch (Throwable e) { // work in other languages may throw anything
      var unused = resetBackoffIfLong(begunAt);
      if (leadership == null || isEndedFromOutside(elected, e)) {
        Engine.log.debug(
            "a loss or a withdrawal ended the work of the leader of \"{}\"", name(), e);
        return false;
      }
      workFailure = e;
      engine.leaseLog.write(
          () -> Engine.log.warn("the work of the leader of \"{}\" failed", name(), e));
      return true;
    } finally {
      leadership = null;
    }
  }

  /** Returns whether the work took long; the next pause is then short again. */
  private boolean resetBackoffIfLong(long begunAt) {
    boolean isLong = engine.platform.nanoTime() - begunAt >= MIN_WORK_TIME.toNanos();
    if (isLong) {
      backoff.reset();
    }
    return isLong;
  }

  /** Whether a loss or a withdrawal ended the work. */
  private boolean isEndedFromOutside(Leadership elected, Throwable failure) {
    return !(failure instanceof Error)
        && (elected.state.loss() != null || (failure instanceof InterruptedException && isOver()));
  }

  /**
   * Releases the lease, however often that fails: otherwise it would be renewed, and nobody lead.
   */
  private void resign(Lease lease) {
    while (true) {
      try {
        lease.release();
        return;
      } catch (Throwable e) {
        Timer.logFailure("resigning a leadership", e);
        pause();
      }
    }
  }

  /** Pauses, unless the candidacy is withdrawn. Never throws. */
  private void pause() {
    try {
      var unused = pauses.await(engine.in(backoff.next()));
    } catch (Throwable e) {
      // After an interrupt or a lack of memory the next step tries again.
      return;
    }
  }

  /** Runs a step that a withdrawal interrupts. */
  private <T> T interruptibly(Callable<T> step) throws Exception {
    setInterruptible(true);
    try {
      ensureActive();
      return step.call();
    } finally {
      setInterruptible(false);
    }
  }

  /** Sets the field, and clears the interrupt status, which was meant for the previous step. */
  private synchronized void setInterruptible(boolean value) {
    interruptible = value;
    var unused = Thread.interrupted();
  }

  private void ensureActive() throws InterruptedException {
    if (isOver()) {
      throw new InterruptedException();
    }
  }

  private boolean isOver() {
    return withdrawn || engine.isClosed();
  }

  // --- its state ------------------------------------------------------------------------------

  String name() {
    return lock.name();
  }

  boolean runsOn(Thread caller) {
    return caller == thread;
  }

  @Override
  public boolean isLeader() {
    Leadership current = leadership;
    return current != null && current.isHeld();
  }

  @Override
  public Optional<Throwable> failure() {
    Throwable failure = campaignFailure;
    if (failure == null && leadership == null && !isOver()) {
      Contender contender = lock.acquirer.queues.of(name()).contender();
      failure = contender == null ? null : contender.currentFailure();
    }
    return Optional.ofNullable(failure == null ? workFailure : failure);
  }

  /** Begins to end the candidacy, without waiting. */
  synchronized void withdraw() {
    if (withdrawn) {
      return;
    }
    withdrawn = true;
    pauses.signal();
    if (interruptible && !runsOn(Thread.currentThread())) {
      thread.interrupt();
    }
  }

  @Override
  public void close() {
    withdraw();
    Deadline deadline = closeDeadline();
    if (runsOn(Thread.currentThread())
        || Futures.awaitUninterruptibly(engine.platform, ended, deadline)) {
      return;
    }
    Leadership unfinished = leadership;
    if (unfinished != null) {
      // Others can lead once the lease has expired.
      unfinished.abandon("its candidacy was closed, but the work of the leader has not ended");
    }
  }

  private synchronized Deadline closeDeadline() {
    if (closeDeadline == null) {
      closeDeadline = engine.in(closeTimeout);
    }
    return closeDeadline;
  }

  @Override
  public String toString() {
    return "Candidacy[" + name() + " on " + engine.store.endpoint() + "]";
  }
}
