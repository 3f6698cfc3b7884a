package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The wait of one acquisition in the local queue, which a single decision ends. A blocking caller
 * waits for the decision; an asynchronous one continues when it is made. The event on the {@link
 * Timer} is the time-out of an asynchronous wait.
 */
final class LocalWait extends Timer.Event implements LocalQueue.Waiter {

  /** The decision on a waiter that gets no object. */
  private enum Decision {
    HEAD,
    CLOSED,
    ABANDONED
  }

  private final Acquirer acquirer;
  private final Engine engine;
  private final Request request;
  private final long enteredAt;
  private final @Nullable BooleanSupplier onDecision;

  /**
   * A {@link Decision}, or the lease, answer or outage that the waiter gets. Completing it
   * allocates no memory.
   */
  private final CompletableFuture<Object> decision = new CompletableFuture<>();

  /**
   * Creates a wait that is in no queue yet.
   *
   * @param onDecision called by the thread that makes the decision; returns false if the head will
   *     not contend; null if a thread waits for the decision
   */
  LocalWait(Acquirer acquirer, Request request, @Nullable BooleanSupplier onDecision) {
    this.acquirer = acquirer;
    this.engine = acquirer.engine;
    this.request = request;
    this.enteredAt = engine.platform.nanoTime();
    this.onDecision = onDecision;
  }

  /** Enters the queue; true if it is the head at once, and will not be called. */
  boolean enter() {
    if (acquirer.queues.enter(request.name(), request.share(), this)) {
      return true;
    }
    if (!request.isOver()) {
      engine.reports.reportWaiting(request);
    }
    acquirer.endIfClosed(this);
    return false;
  }

  /** Waits for the decision; returns whether it is the head now. */
  boolean awaitHead() throws InterruptedException {
    for (Deadline until : List.of(request.deadline(), request.lastDeadline())) {
      if (!Futures.await(engine.platform, decision, until)) {
        timeOut(request.lastDeadline().hasPassed());
      }
    }
    // If it has left the queue, another thread, which does not block, is about to decide.
    Futures.await(engine.platform, decision, Deadline.never(engine.platform));
    return isHead();
  }

  /** Starts the time-out of this wait, unless the decision is made. */
  void timeOutAt(Deadline deadline) {
    engine.timer.schedule(this, deadline.nanos());
    if (decision.isDone()) {
      leave();
    }
  }

  @Override
  void fire(long now) {
    boolean isLast = request.lastDeadline().hasPassed();
    timeOut(isLast);
    if (!isLast) {
      timeOutAt(request.lastDeadline());
    }
  }

  /**
   * Ends the wait after its deadline, with what the head knows about the lock. If the head has had
   * no answer yet, the wait continues until a request has timed out.
   *
   * @param isLast whether a request has timed out
   */
  private void timeOut(boolean isLast) {
    LocalQueue.Answer answer = acquirer.queues.of(request.name()).answerTo(this);
    boolean hasLeft =
        switch (answer.kind()) {
          case HELD, FAILED -> true;
          case PENDING -> isLast && acquirer.queues.of(request.name()).leave(this);
          case NOT_WAITING -> false;
        };
    if (hasLeft) {
      onAnswer(answer);
    }
  }

  /** Whether the decision was to make this waiter the head. */
  boolean isHead() {
    return decision.join() == Decision.HEAD;
  }

  /** Returns the lease or null, or throws; for a wait that did not become the head. */
  @Nullable LeaseState outcome() {
    Object decided = decision.join();
    if (decided instanceof LeaseState lease) {
      return lease;
    }
    if (decided instanceof LocalQueue.Answer answer) {
      return acquirer.timeOutInQueue(request, answer);
    }
    throw decided instanceof LockUnavailableException problem
        ? acquirer.outageFailure(request, problem)
        : engine.closed();
  }

  /**
   * Ends the wait without a lease. A head promotes the next waiter.
   *
   * @return the lease that was handed off to it before, which the caller must release
   */
  @Nullable LeaseState abandon() {
    if (decision.complete(Decision.ABANDONED)) {
      leave();
    } else if (isHead()) {
      acquirer.holdings.promoteNext(request.name());
    }
    return decision.join() instanceof LeaseState lease ? lease : null;
  }

  /** Leaves the timer and, unless the decision has removed it, the queue. */
  private void leave() {
    engine.timer.cancel(this);
    var unused = acquirer.queues.of(request.name()).leave(this);
  }

  @Override
  public Request request() {
    return request;
  }

  @Override
  public long enteredAt() {
    return enteredAt;
  }

  private boolean decide(Object decided) {
    boolean first = decision.complete(decided);
    if (first && onDecision != null) {
      engine.timer.cancel(this);
      return onDecision.getAsBoolean();
    }
    return first;
  }

  @Override
  public boolean onHead() {
    Contender previous = onDecision == null ? null : acquirer.queues.of(request.name()).contender();
    if (previous != null) {
      // Before the decision, because a thread that abandons the wait then passes the contender on.
      previous.startPlaceTimeout();
    }
    return decide(Decision.HEAD);
  }

  @Override
  public void onHandoff(LeaseState lease) {
    if (!decide(lease)) {
      // The wait was abandoned meanwhile.
      Release.releaseUnusedAsync(lease);
    }
  }

  @Override
  public void onAnswer(LocalQueue.Answer answer) {
    var unused = decide(answer);
  }

  @Override
  public void onOutage(LockUnavailableException problem) {
    var unused = decide(problem);
  }

  @Override
  public void onClose() {
    var unused = decide(Decision.CLOSED);
  }
}
