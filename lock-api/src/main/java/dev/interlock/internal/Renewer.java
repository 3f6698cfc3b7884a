package dev.interlock.internal;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;

import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants. Those that are due together go to the store together, if the backend can join
 * them: then at most two requests are in flight, however many grants there are.
 */
final class Renewer {

  /** A grant that can be renewed. */
  interface Renewable {
    Grant grant();

    /** Returns how long one renewal may take so that there is time for another. */
    Duration patience();

    /**
     * Claims it for a renewal that is due.
     *
     * @return whether the caller has to renew it
     */
    boolean startRenewal(CompletableFuture<Boolean> mine);

    /**
     * Claims it for a renewal that a program asks for, after any that is in flight.
     *
     * @return false if it has ended
     * @throws LockException if the one in flight is not answered in time
     */
    boolean awaitRenewal(CompletableFuture<Boolean> mine, Deadline deadline)
        throws InterruptedException;

    /** Applies the outcome of a renewal for which it was claimed. */
    void finishRenewal(CompletableFuture<Boolean> mine, Renewal outcome, Sent request);
  }

  /**
   * A request for renewal.
   *
   * @param at the time before it was sent
   * @param clockOffset the {@linkplain Validity#clockOffset difference of the clocks} at that time
   * @param asked whether a program asked for it
   */
  record Sent(long at, long clockOffset, boolean asked) {}

  private final Engine engine;
  private final int batchSize;

  /** Used on the timer's thread only. */
  private final Set<Renewable> due = new LinkedHashSet<>();

  Renewer(Engine engine) {
    this.engine = engine;
    this.batchSize = Math.max(1, engine.store.maxGrantsPerRenewal());
  }

  /** Adds a grant to the next {@link #flush}. Called on the timer's thread. */
  void due(Renewable grant) {
    due.add(grant);
  }

  /** Renews the grants added. Called on the timer's thread; does not block. */
  void flush() {
    // A request has the shortest time-out of its grants, so only equal ones go together.
    due.stream()
        .collect(groupingBy(Renewable::patience, LinkedHashMap::new, toList()))
        .forEach((patience, grants) -> batches(grants).forEach(batch -> start(batch, patience)));
    due.clear();
  }

  /** Divides grants into what fits into a request each. */
  private <T extends Renewable> List<List<T>> batches(List<T> grants) {
    List<List<T>> batches = new ArrayList<>();
    List<T> remaining = grants;
    while (!remaining.isEmpty()) {
      int size = Math.min(batchSize, remaining.size());
      batches.add(remaining.subList(0, size));
      remaining = remaining.subList(size, remaining.size());
    }
    return batches;
  }

  private void start(List<Renewable> batch, Duration patience) {
    try {
      engine.threads.renewal.execute(() -> renewDue(batch, patience));
    } catch (Throwable e) {
      // The client was closed, or has no thread for it. Each grant asks again until it ends.
      Engine.log.debug("no thread is free for {} renewals; trying again", batch.size(), e);
    }
  }

  private void renewDue(List<Renewable> batch, Duration patience) {
    try {
      var unused = renew(batch, engine.in(patience), false); // each grant knows
    } catch (InterruptedException e) {
      // Only a JVM that is shutting down interrupts these threads.
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Renews grants for a program, with one request if they fit into one.
   *
   * @throws LockException if not all that have not ended are confirmed
   */
  void renewNow(List<? extends Renewable> grants, Deadline deadline) throws InterruptedException {
    StackRoom.require();
    if (deadline.hasPassed()) {
      throw engine.unavailable(names(grants), "no time was left to ask for a renewal", null);
    }
    for (List<? extends Renewable> batch : batches(grants)) {
      LockException failure = renew(batch, deadline, true);
      if (failure != null) {
        throw failure instanceof LockUnavailableException problem
            ? Engine.of(names(grants), problem)
            : failure;
      }
    }
  }

  private static String names(List<? extends Renewable> grants) {
    return grants.stream().map(Renewer::name).collect(joining(", "));
  }

  private static String name(Renewable grant) {
    return grant.grant().claim().name();
  }

  /**
   * Renews with one request those that it can claim, and passes the outcome on to them.
   *
   * @return why one of them was not renewed, though it has not ended; null if there is none
   */
  private @Nullable LockException renew(
      List<? extends Renewable> wanted, Deadline deadline, boolean asked)
      throws InterruptedException {
    CompletableFuture<Boolean> round = new CompletableFuture<>();
    List<Renewable> claimed = new ArrayList<>(wanted.size());
    List<Renewal> answers = List.of();
    Renewal unanswered = new Renewal.Failed(engine.unavailable("the renewal was aborted", null));
    LockException failure = null;
    Sent request = now(asked);
    try {
      for (Renewable grant : wanted) {
        if (asked ? grant.awaitRenewal(round, deadline) : grant.startRenewal(round)) {
          claimed.add(grant);
        }
      }
      if (!claimed.isEmpty()) {
        List<Grant> grants = claimed.stream().map(Renewable::grant).toList();
        request = now(asked);
        answers = requireNonNull(engine.store.renewAll(grants, deadline), "renewals");
      }
    } catch (LockException e) {
      // Also if no grant was claimed: one could not be, as its other renewal was not answered.
      failure = e;
      unanswered = new Renewal.Failed(e);
    } catch (InterruptedException e) {
      throw e;
    } catch (Throwable e) {
      failure = engine.unavailable("the renewal was aborted", e);
      unanswered = new Renewal.Failed(failure);
      Engine.log.error("the backend failed to renew {} grants", claimed.size(), e);
    } finally {
      for (int i = 0; i < claimed.size(); i++) {
        Renewal answer = i < answers.size() ? answers.get(i) : unanswered;
        if (failure == null && answer instanceof Renewal.Failed failed) {
          failure = failed.problem();
        }
        finish(claimed.get(i), round, answer, request);
      }
      round.complete(true);
    }
    return failure;
  }

  private Sent now(boolean asked) {
    long at = engine.platform.nanoTime();
    return new Sent(at, Validity.clockOffset(engine.platform), asked);
  }

  /** Adds to a confirmation until when the grant is certain, if the backend did not say so. */
  static Renewal counted(Renewal answer, Grant grant, long sentAt) {
    return answer instanceof Renewal.Confirmed
        ? new Renewal.Renewed(sentAt + grant.validityPerConfirmation().toNanos())
        : answer;
  }

  /** A failure of one does not affect the others. */
  private static void finish(
      Renewable grant, CompletableFuture<Boolean> round, Renewal answer, Sent request) {
    try {
      grant.finishRenewal(round, counted(answer, grant.grant(), request.at()), request);
    } catch (Throwable e) {
      Engine.log.error("the renewal of \"{}\" could not be finished", name(grant), e);
    }
  }
}
