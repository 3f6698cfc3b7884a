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
 * Closes a client: first its candidacies and attempts end, then it waits for its leases, then it
 * ends those that are left. Used once.
 */
final class Shutdown {

  /** How many requests are sent at once to release what is held. */
  private static final int RELEASERS = 16;

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
   * @param drain how long to wait for leases that are held
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
    Deadline drained = engine.in(drain);
    Deadline attemptsEnded = engine.requestDeadline();
    candidacies.forEach(ElectionCandidacy::withdraw);
    leaderWatches.close();
    holdings.queues.drain().forEach(LocalQueue.Waiter::onClose);
    holdings.stopAttempts();
    // These end soon, if the work of candidates heeds its interrupt.
    while (isInterruptedUntil(
        () -> !holdings.hasAttempts() && otherCandidacies().findAny().isEmpty(), attemptsEnded)) {
      interrupted = true;
    }
    Duration left = engine.requestTimeout().plus(attemptsEnded.remaining());
    interrupted = interrupted || isInterruptedUntil(() -> !holdings.hasGrants(), drained);
    Deadline deadline = engine.in(left);
    engine.endLeases();
    endLeases(deadline);
    // Its own loss interrupts work of a leader that closes the client.
    interrupted |= Thread.interrupted();
    interrupted |=
        isInterruptedUntil(
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
    engine.leaseLog.count();
  }

  /** Those whose work is not what called this, so that it can end. */
  private Stream<ElectionCandidacy> otherCandidacies() {
    Thread caller = Thread.currentThread();
    return candidacies.stream().filter(candidacy -> !candidacy.isOwn(caller));
  }

  /** Waits until it is so. What begins after the client is closed ends at once. */
  private boolean isInterruptedUntil(BooleanSupplier condition, Deadline deadline) {
    try {
      engine.awaitEnd(condition, deadline);
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** Reports the loss to all holders first, and then releases their locks. */
  private void endLeases(Deadline deadline) {
    Queue<Grant> open = new ConcurrentLinkedQueue<>();
    holdings
        .grants()
        .filter(grant -> grant.end(LeaseState::lossByClose))
        .forEach(grant -> open.add(grant.grant()));
    List<CompletableFuture<@Nullable Void>> ends = new ArrayList<>();
    for (int i = 1; i < Math.min(RELEASERS, open.size()); i++) {
      try {
        ends.add(
            CompletableFuture.runAsync(() -> releaseAll(open, deadline), engine.threads.cleanup));
      } catch (Throwable e) {
        Engine.log.debug("no thread is free to release more leases at once", e);
      }
    }
    releaseAll(open, deadline);
    CompletableFuture<?> all = CompletableFuture.allOf(ends.toArray(new CompletableFuture<?>[0]));
    var unused = Awaiting.doneUninterruptibly(engine.platform, all, deadline);
  }

  private void releaseAll(Queue<Grant> open, Deadline deadline) {
    Grant grant;
    while ((grant = open.poll()) != null) {
      var unused = engine.cleanup.release(grant, deadline.orIn(engine.requestTimeout()));
    }
  }
}
