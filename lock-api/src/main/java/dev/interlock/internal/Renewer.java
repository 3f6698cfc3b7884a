package dev.interlock.internal;

import com.google.common.collect.Lists;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Renews leases. Those that are due together go to the store together, if the backend can join
 * them: then at most two requests are in flight, however many leases there are.
 */
final class Renewer {

  private final DefaultLockClient engine;
  private final int batchSize;

  @GuardedBy("this")
  private List<LeaseState> due = new ArrayList<>();

  Renewer(DefaultLockClient engine) {
    this.engine = engine;
    this.batchSize = engine.store.maxGrantsPerRenewal();
  }

  /** Adds a lease to the next {@link #flush}. */
  synchronized void due(LeaseState lease) {
    due.add(lease);
  }

  /** Renews the leases added. Called on the timer's thread; does not block. */
  void flush() {
    List<LeaseState> all;
    synchronized (this) {
      if (due.isEmpty()) {
        return;
      }
      all = due;
      due = new ArrayList<>();
    }
    // A request has the shortest time-out of its leases, so only equal ones go together.
    Map<Duration, List<LeaseState>> equals = new LinkedHashMap<>();
    for (LeaseState lease : all) {
      equals.computeIfAbsent(lease.patience(), patience -> new ArrayList<>()).add(lease);
    }
    equals.forEach(
        (patience, leases) -> {
          for (List<LeaseState> batch : Lists.partition(leases, batchSize)) {
            start(batch, patience);
          }
        });
  }

  private void start(List<LeaseState> batch, Duration patience) {
    try {
      engine.threads.renewal.execute(() -> renewDue(batch, patience));
    } catch (Throwable e) {
      // The client was closed, or has no thread for it. Each lease asks again until it ends.
      DefaultLockClient.log.debug("{} renewals have to wait", batch.size(), e);
    }
  }

  private void renewDue(List<LeaseState> batch, Duration patience) {
    try {
      var unused = renew(batch, Deadline.in(engine.platform, patience), false); // each lease knows
    } catch (InterruptedException e) {
      // Only a JVM that is shutting down interrupts these threads.
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Renews the leases that a program asks for, with one request if they fit into one.
   *
   * @throws LockException if not all are confirmed
   */
  void renewNow(List<LeaseState> leases, Deadline deadline) throws InterruptedException {
    StackRoom.require();
    if (deadline.hasPassed()) {
      throw engine.unavailable(names(leases), "no time was left to ask for a renewal", null);
    }
    for (List<LeaseState> batch : Lists.partition(leases, batchSize)) {
      LockException failure = renew(batch, deadline, true);
      if (failure != null) {
        throw failure instanceof LockUnavailableException problem
            ? DefaultLockClient.of(names(leases), problem)
            : failure;
      }
    }
    leases.forEach(LeaseState::ensureHeld);
  }

  private static String names(List<LeaseState> leases) {
    return leases.stream().map(LeaseState::name).collect(Collectors.joining(", "));
  }

  /**
   * Renews with one request those that it can claim, and passes the outcome on to them.
   *
   * @return why one of them was not renewed, though it has not ended; null if there is none
   */
  private @Nullable LockException renew(List<LeaseState> wanted, Deadline deadline, boolean asked)
      throws InterruptedException {
    CompletableFuture<Boolean> round = new CompletableFuture<>();
    List<LeaseState> leases = new ArrayList<>(wanted.size());
    List<Renewal> outcomes = new ArrayList<>(wanted.size());
    LockException aborted = engine.unavailable("the renewal was aborted", null);
    LockException problem = aborted;
    LockException failure = null;
    long sentAt = engine.platform.nanoTime();
    long offset = engine.clockOffset();
    try {
      for (LeaseState lease : wanted) {
        if (asked
            ? lease.awaitRenewal(round, deadline)
            : lease.startRenewal(round, false) == round) {
          leases.add(lease);
        }
      }
      if (!leases.isEmpty()) {
        sentAt = engine.platform.nanoTime();
        offset = engine.clockOffset();
        // Readers may share a grant, which is renewed once for all of them.
        Map<Grant, Renewal> answers = new LinkedHashMap<>();
        leases.forEach(lease -> answers.put(lease.grant(), new Renewal.Failed(aborted)));
        List<Grant> grants = List.copyOf(answers.keySet());
        List<Renewal> renewals = engine.store.renewAll(grants, deadline);
        for (int i = 0; i < renewals.size(); i++) {
          answers.put(grants.get(i), counted(renewals.get(i), grants.get(i), sentAt));
        }
        leases.forEach(lease -> outcomes.add(answers.get(lease.grant())));
      }
    } catch (LockException e) {
      // Also if no lease was claimed: one could not be, as its other renewal was not answered.
      problem = e;
      failure = e;
    } catch (InterruptedException e) {
      throw e;
    } catch (Throwable e) {
      problem = engine.unavailable("the renewal was aborted", e);
      failure = problem;
      DefaultLockClient.log.error("the backend failed to renew {} leases", leases.size(), e);
    } finally {
      while (outcomes.size() < leases.size()) {
        outcomes.add(new Renewal.Failed(problem));
      }
      for (int i = 0; i < leases.size(); i++) {
        if (failure == null && outcomes.get(i) instanceof Renewal.Failed failed) {
          failure = failed.problem();
        }
        finish(leases.get(i), round, outcomes.get(i), sentAt, offset, asked);
      }
      round.complete(true);
    }
    return failure;
  }

  /** Adds to a confirmation until when the grant is certain, if the backend did not say so. */
  static Renewal counted(Renewal answer, Grant grant, long sentAt) {
    return answer instanceof Renewal.Confirmed
        ? new Renewal.Renewed(sentAt + grant.validityPerConfirmation().toNanos())
        : answer;
  }

  /** A failure of one does not affect the others. */
  private static void finish(
      LeaseState lease,
      CompletableFuture<Boolean> round,
      Renewal outcome,
      long sentAt,
      long offset,
      boolean asked) {
    try {
      lease.finishRenewal(round, outcome, sentAt, offset, asked);
    } catch (Throwable e) {
      DefaultLockClient.log.error("the renewal of \"{}\" could not be finished", lease.name(), e);
    }
  }
}
