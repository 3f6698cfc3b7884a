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
 * Renews grants. Grants that are due together go to the store in one request, if the backend
 * supports that: then at most two requests are in flight, however many grants there are.
 */
final class Renewer {

  interface Renewable {
    Grant grant();

    /** Returns the time that one renewal may take so that there is time for another. */
    Duration renewalTimeout();

    /**
     * Claims the grant for a renewal that is due.
     *
     * @return whether the caller must renew it
     */
    boolean startRenewal(CompletableFuture<Boolean> own);

    /**
     * Claims the grant for a renewal that the program asks for, after any renewal in flight.
     *
     * @return false if the grant has ended
     * @throws LockException if the renewal in flight is not answered in time
     */
    boolean awaitRenewal(CompletableFuture<Boolean> own, Deadline deadline)
        throws InterruptedException;

    /** Applies the outcome of a renewal that claimed the grant. */
    void finishRenewal(CompletableFuture<Boolean> own, Renewal outcome, Sent request);
  }

  /**
   * A request for renewal.
   *
   * @param at the time before it was sent
   * @param clockOffset the {@linkplain Validity#clockOffset difference of the clocks} at that time
   * @param byProgram whether the program asked for it
   */
  record Sent(long at, long clockOffset, boolean byProgram) {}

  private final Engine engine;
  private final int batchSize;

  /** Used on the timer's thread only. */
  private final Set<Renewable> due = new LinkedHashSet<>();

  Renewer(Engine engine) {
    this.engine = engine;
    this.batchSize = Math.max(1, engine.store.maxGrantsPerRenewal());
  }

  /** Adds a grant to the next {@link #flush}. Called on the timer's thread. */
  void add(Renewable grant) {
    due.add(grant);
  }

  /** Renews the added grants. Called on the timer's thread; does not block. */
  void flush() {
    // A request would get the shortest time-out of its grants, so only equal ones share a request.
    due.stream()
        .collect(groupingBy(Renewable::renewalTimeout, LinkedHashMap::new, toList()))
        .forEach((timeout, grants) -> batches(grants).forEach(batch -> start(batch, timeout)));
    due.clear();
  }

  /** Divides grants into batches of one request each. */
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

  private void start(List<Renewable> batch, Duration timeout) {
    try {
      engine.threads.renewal.execute(() -> renewDue(batch, timeout));
    } catch (Throwable e) {
      // The client was closed, or has no thread for it. Each grant asks again until it ends.
      Engine.log.debug("no thread is free for {} renewals; trying again", batch.size(), e);
    }
  }

  private void renewDue(List<Renewable> batch, Duration timeout) {
    try {
      var unused = renew(batch, engine.in(timeout), false); // each grant has its own outcome
    } catch (InterruptedException e) {
      // Only a JVM that shuts down interrupts these threads.
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Renews grants for the program, with one request if they fit into one.
   *
   * @throws LockException if a grant that has not ended was not confirmed
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
            ? Engine.withName(names(grants), problem)
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
   * Renews the grants that it can claim with one request, and applies the outcome to each.
   *
   * @return the failure of a grant that has not ended; null if there is none
   */
  private @Nullable LockException renew(
      List<? extends Renewable> wanted, Deadline deadline, boolean byProgram)
      throws InterruptedException {
    CompletableFuture<Boolean> renewal = new CompletableFuture<>();
    List<Renewable> claimed = new ArrayList<>(wanted.size());
    List<Renewal> answers = List.of();
    Renewal unanswered = new Renewal.Failed(engine.unavailable("the renewal was aborted", null));
    LockException failure = null;
    Sent request = sentNow(byProgram);
    try {
      for (Renewable grant : wanted) {
        if (byProgram ? grant.awaitRenewal(renewal, deadline) : grant.startRenewal(renewal)) {
          claimed.add(grant);
        }
      }
      if (!claimed.isEmpty()) {
        List<Grant> grants = claimed.stream().map(Renewable::grant).toList();
        request = sentNow(byProgram);
        answers = requireNonNull(engine.store.renewAll(grants, deadline), "renewals");
      }
    } catch (LockException e) {
      // Thrown even if no grant was claimed: an earlier renewal of one was not answered.
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
        finish(claimed.get(i), renewal, answer, request);
      }
      renewal.complete(true);
    }
    return failure;
  }

  private Sent sentNow(boolean byProgram) {
    long at = engine.platform.nanoTime();
    return new Sent(at, Validity.clockOffset(engine.platform), byProgram);
  }

  /** Adds the validity to a confirmation, if the backend did not state it. */
  static Renewal withValidity(Renewal answer, Grant grant, long sentAt) {
    return answer instanceof Renewal.Confirmed
        ? new Renewal.Renewed(sentAt + grant.validityPerConfirmation().toNanos())
        : answer;
  }

  /** Applies the outcome to one grant. A failure does not affect the others. */
  private static void finish(
      Renewable grant, CompletableFuture<Boolean> renewal, Renewal answer, Sent request) {
    try {
      grant.finishRenewal(renewal, withValidity(answer, grant.grant(), request.at()), request);
    } catch (Throwable e) {
      Engine.log.error("the renewal of \"{}\" could not be finished", name(grant), e);
    }
  }
}
