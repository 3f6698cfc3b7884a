package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Closes a client, once: ends candidacies and attempts, waits until leases are released, and then
 * ends those that are still held.
 */
final class Shutdown {

  private static final int MAX_RELEASERS = 16;

  private final Holdings holdings;
  private final Engine engine;
  private final Set<ElectionCandidacy> candidacies;
  private final LeaderWatches leaderWatches;
  private boolean interrupted;

  Shutdown(Holdings holdings, Set<ElectionCandidacy> candidacies, LeaderWatches leaderWatches) {
    this.holdings = holdings;
    this.engine = holdings.engine;
    this.candidacies = candidacies;
    this.leaderWatches = leaderWatches;
  }

  /**
   * Closes a client that accepts no more work.
   *
   * @param drain how long to wait until held leases are released
   */
  void run(Duration drain) {
    interrupted = Thread.interrupted();
    try {
      endAll(drain);
    } finally {
      try {
        engine.stop();
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  private void endAll(Duration drain) {
    Deadline drainDeadline = engine.in(drain);
    Deadline attemptsDeadline = engine.requestDeadline();
    candidacies.forEach(ElectionCandidacy::withdraw);
    leaderWatches.close();
    holdings.queues.drain().forEach(LocalQueue.Waiter::onClose);
    holdings.stopAttempts();
    // Attempts end soon, and so do candidacies whose work responds to its interrupt.
    while (isInterruptedWhileAwaiting(
        () -> !holdings.hasAttempts() && otherCandidacies().findAny().isEmpty(),
        attemptsDeadline)) {
      interrupted = true;
    }
    Duration remaining = engine.requestTimeout().plus(attemptsDeadline.remaining());
    interrupted =
        interrupted || isInterruptedWhileAwaiting(() -> !holdings.hasGrants(), drainDeadline);
    Deadline deadline = engine.in(remaining);
    engine.endLeases();
    endLeases(deadline);
    // If the work of a leader closes the client, the loss of the leader's lease interrupts it.
    interrupted |= Thread.interrupted();
    interrupted |=
        isInterruptedWhileAwaiting(
            () -> !holdings.hasGrants() && otherCandidacies().findAny().isEmpty(), deadline);
    if (holdings.hasGrants() || deadline.hasPassed()) {
      Engine.log.warn(
          "the client was closed before all leases were released; the others end with their TTLs");
    }
    otherCandidacies()
        .forEach(
            other ->
                Engine.log.warn(
                    "the client was closed while the work of {} was still in progress", other));
    engine.cleanup.finish(deadline);
    engine.leaseLog.logOthers();
  }

  /** Returns all candidacies but that of the calling thread, which cannot end before this close. */
  private Stream<ElectionCandidacy> otherCandidacies() {
    Thread caller = Thread.currentThread();
    return candidacies.stream().filter(candidacy -> !candidacy.runsOn(caller));
  }

  /**
   * Waits until the condition holds, the deadline passes or the thread is interrupted. The
   * condition cannot change back, because whatever begins after the close ends at once.
   */
  private boolean isInterruptedWhileAwaiting(BooleanSupplier condition, Deadline deadline) {
    try {
      engine.awaitEnd(condition, deadline);
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** Reports a loss to all holders, and then releases their locks. */
  private void endLeases(Deadline deadline) {
    Queue<Grant> open = new ConcurrentLinkedQueue<>();
    holdings
        .grants()
        .filter(grant -> grant.endLost(LeaseState::lossAtClose))
        .forEach(grant -> open.add(grant.grant()));
    List<CompletableFuture<@Nullable Void>> releases = new ArrayList<>();
    for (int i = 1; i < Math.min(MAX_RELEASERS, open.size()); i++) {
      try {
        releases.add(
            CompletableFuture.runAsync(() -> releaseAll(open, deadline), engine.threads.cleanup));
      } catch (Throwable e) {
        Engine.log.debug("no thread is free to release more leases at once", e);
      }
    }
    releaseAll(open, deadline);
    CompletableFuture<?> all =
        CompletableFuture.allOf(releases.toArray(new CompletableFuture<?>[0]));
    var unused = Futures.awaitUninterruptibly(engine.platform, all, deadline);
  }

  private void releaseAll(Queue<Grant> open, Deadline deadline) {
    Grant grant;
    while ((grant = open.poll()) != null) {
      var unused = engine.cleanup.release(grant, deadline.atMost(engine.requestTimeout()));
    }
  }
}
