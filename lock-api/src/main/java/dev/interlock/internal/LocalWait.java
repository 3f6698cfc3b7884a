package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The wait of one acquisition in the local queue, which ends by one decision. A blocking caller
 * waits for it; an asynchronous one goes on when it is made.
 */
final class LocalWait implements LocalQueue.Waiter {

  /**
   * What becomes of a waiter.
   *
   * @param end how its acquisition ends; null if it is the head now
   * @param lease the lease that was handed off to it; null if none was
   */
  record Decision(@Nullable Supplier<@Nullable LeaseState> end, @Nullable LeaseState lease) {
    boolean isHead() {
      return end == null;
    }
  }

  private final Acquirer acquirer;
  private final Request request;
  private final long enteredAt;
  private final Predicate<Decision> next;
  private final CompletableFuture<Decision> decision = new CompletableFuture<>();

  /**
   * Makes one that is in no queue yet.
   *
   * @param next called with the decision, by the thread that makes it; returns false if a head does
   *     not take its turn
   */
  LocalWait(Acquirer acquirer, Request request, Predicate<Decision> next) {
    this.acquirer = acquirer;
    this.request = request;
    this.enteredAt = acquirer.engine.platform.nanoTime();
    this.next = next;
  }

  /** Waits until the deadline; returns whether it has been decided. */
  boolean isDecided(Deadline until) throws InterruptedException {
    return Awaiting.done(acquirer.engine.platform, decision, until);
  }

  /** Enters the queue; true if it is the head at once, and will not be called. */
  boolean enter() {
    return acquirer.queue.enter(request.name(), request.share(), this);
  }

  /** Leaves the queue; false if its decision has been made, or is about to be. */
  boolean leave() {
    return acquirer.queue.leave(request.name(), this);
  }

  /** Waits for a decision that another thread, which does not block, is about to make. */
  Decision awaitDecision() {
    TimeSource time = acquirer.engine.platform;
    Awaiting.doneUninterruptibly(time, decision, Deadline.never(time));
    return decision.join();
  }

  /** Ends the wait without a lease: what it was given, or is about to be, is passed on. */
  void abandon() {
    if (leave()) {
      return;
    }
    Decision unwanted = awaitDecision();
    if (unwanted.isHead()) {
      acquirer.holdings.pass(request.name());
    } else if (unwanted.lease() != null) {
      unwanted.lease().giveUp(null);
    }
  }

  @Override
  public Request request() {
    return request;
  }

  @Override
  public long enteredAt() {
    return enteredAt;
  }

  private boolean decide(Decision made) {
    return decision.complete(made) && next.test(made);
  }

  private void end(Supplier<@Nullable LeaseState> how) {
    var unused = decide(new Decision(how, null));
  }

  @Override
  public boolean onHead() {
    return decide(new Decision(null, null));
  }

  @Override
  public void onHandoff(LeaseState lease) {
    var unused = decide(new Decision(() -> lease, lease));
  }

  @Override
  public void onAnswer(LocalQueue.Answer answer) {
    end(() -> acquirer.timedOutInLine(request, answer));
  }

  @Override
  public void onOutage(LockUnavailableException problem) {
    end(
        () -> {
          throw acquirer.outage(request, problem);
        });
  }

  @Override
  public void onClose() {
    end(
        () -> {
          throw acquirer.engine.closed();
        });
  }
}
