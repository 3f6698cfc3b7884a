package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The wait of one acquisition in the local queue, which ends by one decision. A blocking caller
 * waits for it; an asynchronous one goes on when it is made. The event on the {@link Timer} is the
 * time-out of an asynchronous one.
 */
final class LocalWait extends Timer.Event implements LocalQueue.Waiter {

  /** What becomes of a waiter that is given nothing. */
  private enum Fate {
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
   * A {@link Fate}, or the lease, the answer or the outage that it is given. To make it needs no
   * memory.
   */
  private final CompletableFuture<Object> decision = new CompletableFuture<>();

  /**
   * Makes one that is in no queue yet.
   *
   * @param onDecision called by the thread that makes the decision; returns false if a head does
   *     not take its turn; null if a thread waits for the decision
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
      engine.reports.noteWaiting(request);
    }
    acquirer.ensureServed(this);
    return false;
  }

  /** Waits for the decision; returns whether it is the head now. */
  boolean awaitHead() throws InterruptedException {
    for (Deadline until : List.of(request.deadline(), request.end())) {
      if (!Awaiting.done(engine.platform, decision, until)) {
        timeOut(request.end().hasPassed());
      }
    }
    // If it has left the queue, another thread, which does not block, is about to decide.
    Awaiting.done(engine.platform, decision, Deadline.never(engine.platform));
    return isHead();
  }

  /** From here on its time-out applies, unless it has been decided. */
  void timeOutAt(Deadline deadline) {
    engine.timer.schedule(this, deadline.nanos());
    if (decision.isDone()) {
      leave();
    }
  }

  @Override
  void fire(long now) {
    boolean isLast = request.end().hasPassed();
    timeOut(isLast);
    if (!isLast) {
      timeOutAt(request.end());
    }
  }

  /**
   * Ends the wait, whose time is over, by what the head knows of the lock. If the head has had no
   * answer yet, the wait goes on for that until a request has timed out.
   *
   * @param isLast whether one has
   */
  private void timeOut(boolean isLast) {
    LocalQueue.Answer known = acquirer.queues.of(request.name()).answerTo(this);
    boolean left =
        switch (known.kind()) {
          case HELD, FAILED -> true;
          case PENDING -> isLast && acquirer.queues.of(request.name()).leave(this);
          case LEFT -> false;
        };
    if (left) {
      onAnswer(known);
    }
  }

  /** Whether it has been decided that it is the head now. */
  boolean isHead() {
    return decision.join() == Fate.HEAD;
  }

  /** Returns how its acquisition ends, unless it is the head. */
  @Nullable LeaseState outcome() {
    Object made = decision.join();
    if (made instanceof LeaseState lease) {
      return lease;
    }
    if (made instanceof LocalQueue.Answer answer) {
      return acquirer.timedOutInLine(request, answer);
    }
    throw made instanceof LockUnavailableException problem
        ? acquirer.outage(request, problem)
        : engine.closed();
  }

  /**
   * Ends the wait without a lease. A head passes its turn on.
   *
   * @return the lease that was handed over to it before, which is left to the caller
   */
  @Nullable LeaseState abandon() {
    if (decision.complete(Fate.ABANDONED)) {
      leave();
    } else if (isHead()) {
      acquirer.holdings.endTurn(request.name());
    }
    return decision.join() instanceof LeaseState lease ? lease : null;
  }

  /** Leaves the queue, unless the one who made the decision has removed it, and the timer. */
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

  private boolean decide(Object made) {
    boolean first = decision.complete(made);
    if (first && onDecision != null) {
      engine.timer.cancel(this);
      return onDecision.getAsBoolean();
    }
    return first;
  }

  @Override
  public boolean onHead() {
    Contender left = onDecision == null ? null : acquirer.queues.of(request.name()).contender();
    if (left != null) {
      // Before the decision, because whoever abandons the wait then passes the contender on.
      left.awaitThread();
    }
    return decide(Fate.HEAD);
  }

  @Override
  public void onHandoff(LeaseState lease) {
    if (!decide(lease)) {
      // It was abandoned meanwhile.
      Release.giveUpAsync(lease);
    }
  }

  @Override
  public void onAnswer(LocalQueue.Answer known) {
    var unused = decide(known);
  }

  @Override
  public void onOutage(LockUnavailableException problem) {
    var unused = decide(problem);
  }

  @Override
  public void onClose() {
    var unused = decide(Fate.CLOSED);
  }
}
