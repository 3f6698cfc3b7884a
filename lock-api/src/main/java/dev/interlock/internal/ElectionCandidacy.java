package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Election;
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
final class ElectionCandidacy implements Election.Candidacy {

  /** Work that takes less does not end the pauses between leaderships. */
  private static final Duration MIN_WORK = Duration.ofSeconds(1);

  private final Engine engine;
  private final Acquirer acquirer;
  private final Set<ElectionCandidacy> all;
  private final LockHandle lock;
  private final Election.LeaderWork work;
  private final Thread thread;
  private final WakeUp pauses;
  private final Duration closeTimeout;
  private final Backoff betweenCampaigns;
  private final Backoff afterWork;
  private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();

  @GuardedBy("this")
  private boolean withdrawn;

  /** Until when a close waits for the work; null before the first. */
  @GuardedBy("this")
  private @Nullable Deadline closeBy;

  /** Whether the thread is in a step that an interrupt ends. */
  @GuardedBy("this")
  private boolean interruptible;

  /** The lease of the work while it is in progress, or null. */
  private volatile @Nullable Leadership leadership;

  private volatile boolean campaigning;
  private volatile @Nullable Throwable failureOfCampaign;
  private volatile @Nullable Throwable failureOfWork;

  private ElectionCandidacy(
      Set<ElectionCandidacy> all,
      Acquirer acquirer,
      String name,
      LockOptions options,
      Election.LeaderWork work) {
    this.engine = acquirer.engine;
    this.acquirer = acquirer;
    this.all = all;
    // Waiting long for leadership is not a failure.
    LockOptions unlimited = options.toBuilder().waitTimeout(null).build();
    this.lock = new LockHandle(acquirer, name, Share.EXCLUSIVE, unlimited);
    this.work = work;
    this.thread = engine.platform.thread(engine.backend.name() + "-candidate", this::run);
    this.pauses = new WakeUp(engine.platform);
    this.closeTimeout = options.ttl().plus(options.requestTimeout());
    this.betweenCampaigns = new Backoff(engine.platform, options.ttl());
    this.afterWork = new Backoff(engine.platform, options.ttl());
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
      Election.LeaderWork work) {
    StackRoom.require();
    ElectionCandidacy candidacy = new ElectionCandidacy(all, acquirer, name, options, work);
    all.add(candidacy);
    boolean started = false;
    try {
      // After it was added: from here on, closing the client withdraws it.
      acquirer.engine.ensureOpen();
      candidacy.thread.start();
      started = true;
    } finally {
      if (!started) {
        candidacy.end();
      }
    }
    return candidacy;
  }

  private void run() {
    try {
      while (!isOver()) {
        try {
          takeTurn();
        } catch (Throwable e) {
          Timer.failed("a turn of a candidate", e);
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

  /** One campaign, and one leadership if it succeeds. */
  private void takeTurn() {
    Leadership lease = campaign();
    if (lease == null) {
      pause(betweenCampaigns);
      return;
    }
    boolean pauses = true;
    try {
      pauses = lead(lease);
    } finally {
      resign(lease);
    }
    if (pauses) {
      pause(afterWork);
    }
  }

  // --- campaigning ----------------------------------------------------------------------------

  private @Nullable Leadership campaign() {
    campaigning = true;
    try {
      Leadership lease =
          interruptibly(
              () -> BlockingAcquisition.acquire(acquirer, lock.untilHad(), Leadership::new));
      failureOfCampaign = null;
      betweenCampaigns.reset();
      return lease;
    } catch (Throwable e) {
      if (!isOver()) {
        boolean first = failureOfCampaign == null;
        failureOfCampaign = e;
        logCampaign(first, e);
      }
      return null;
    } finally {
      campaigning = false;
    }
  }

  private void logCampaign(boolean first, Throwable failure) {
    engine.leaseLog.write(
        () -> {
          if (first) {
            Engine.log.warn(
                "a campaign for \"{}\" failed; trying again: {}",
                lock.name(),
                String.valueOf(failure));
          }
          Engine.log.debug("a campaign for \"{}\" failed", lock.name(), failure);
        });
  }

  // --- leading --------------------------------------------------------------------------------

  /** Returns whether a pause follows: the work failed, or returned almost at once. */
  private boolean lead(Leadership elected) {
    boolean[] begun = new boolean[1];
    long since = engine.platform.nanoTime();
    try {
      if (!begin(elected)) {
        return false;
      }
      interruptibly(
          () ->
              elected.callWhileHeld(
                  () -> {
                    begun[0] = true;
                    work.lead(elected);
                    failureOfWork = null;
                    return true;
                  }));
      return !isLong(since);
    } catch (Throwable e) { // work in other languages may throw anything
      if (!begun[0] || isEndedFromOutside(elected, e)) {
        Engine.log.debug("the work of the leader of \"{}\" was ended", name(), e);
        return false;
      }
      failureOfWork = e;
      logWork(e);
      return true;
    } finally {
      leadership = null;
    }
  }

  private synchronized boolean begin(Leadership elected) {
    if (!withdrawn) {
      leadership = elected;
    }
    return !withdrawn;
  }

  private boolean isLong(long since) {
    boolean isLong = engine.platform.nanoTime() - since >= MIN_WORK.toNanos();
    if (isLong) {
      afterWork.reset();
    }
    return isLong;
  }

  /** Whether the work ended because of the loss or the withdrawal. */
  private boolean isEndedFromOutside(Leadership elected, Throwable failure) {
    return !(failure instanceof Error)
        && (elected.isLost() || (failure instanceof InterruptedException && isOver()));
  }

  private void logWork(Throwable failure) {
    engine.leaseLog.write(
        () -> Engine.log.warn("the work of the leader of \"{}\" failed", name(), failure));
  }

  /** Never gives up: a lease that is not released would be renewed, and nobody would lead. */
  private void resign(Lease lease) {
    while (true) {
      try {
        lease.release();
        return;
      } catch (Throwable e) {
        Timer.failed("the release of a leadership", e);
        rest(afterWork);
      }
    }
  }

  // --- its thread -----------------------------------------------------------------------------

  /**
   * Runs a step that is interrupted when this is closed. Clears an interrupt status that the step
   * leaves behind: it was meant for the step.
   */
  private <T> T interruptibly(Callable<T> step) throws Exception {
    synchronized (this) {
      if (withdrawn) {
        throw new InterruptedException();
      }
      interruptible = true;
      clearInterrupt();
    }
    try {
      return step.call();
    } finally {
      synchronized (this) {
        interruptible = false;
        clearInterrupt();
      }
    }
  }

  private static void clearInterrupt() {
    var unused = Thread.interrupted();
  }

  private void pause(Backoff backoff) {
    if (isOver()) {
      return;
    }
    try {
      interruptibly(() -> pauses.await(in(backoff)));
    } catch (Exception e) {
      // The loop checks whether the candidacy is over.
      Engine.log.trace("a pause was interrupted", e);
    }
  }

  private void rest(Backoff backoff) {
    try {
      var unused = pauses.await(in(backoff));
    } catch (InterruptedException e) {
      Engine.log.trace("a pause was interrupted", e);
    }
  }

  private Deadline in(Backoff backoff) {
    return Deadline.in(engine.platform, backoff.next());
  }

  private synchronized boolean isOver() {
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
  public Optional<Throwable> problem() {
    Throwable failure = failureOfCampaign;
    if (failure == null && campaigning) {
      Contender contender = acquirer.queues.of(name()).contender();
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
    Leadership current = leadership;
    if (current != null) {
      current.withdraw();
    }
    if (interruptible && Thread.currentThread() != thread) {
      thread.interrupt();
    }
  }

  @Override
  public void close() {
    withdraw();
    Deadline patience;
    synchronized (this) {
      if (closeBy == null) {
        closeBy = Deadline.in(engine.platform, closeTimeout);
      }
      patience = closeBy;
    }
    if (isOwn(Thread.currentThread())
        || Awaiting.doneUninterruptibly(engine.platform, ended, patience)) {
      return;
    }
    Leadership unfinished = leadership;
    if (unfinished != null) {
      // Others lead once it has expired.
      unfinished.abandon("its candidate was closed, and the work of the leader has not ended");
    }
  }

  @Override
  public String toString() {
    return "Candidacy[" + name() + " on " + engine.store.endpoint() + "]";
  }
}
