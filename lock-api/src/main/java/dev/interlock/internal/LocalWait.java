package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The wait of one acquisition in the local queue, which ends by one decision. A blocking caller
 * waits for it; an asynchronous one goes on when it is made.
 */
final class LocalWait implements LocalQueue.Waiter {

  /** What becomes of a waiter. Its details are set before; to make it needs no memory. */
  private enum Decision {
    HEAD,
    HANDED_OFF,
    ANSWERED,
    OUTAGE,
    CLOSED
  }

  private final Acquirer acquirer;
  private final Request request;
  private final long enteredAt;
  private final BooleanSupplier next;
  private final CompletableFuture<Decision> decision = new CompletableFuture<>();
  private volatile @Nullable LeaseState lease;
  private volatile LocalQueue.Answer answer = LocalQueue.Answer.PENDING;
  private volatile @Nullable LockUnavailableException outage;

  /**
   * Makes one that is in no queue yet.
   *
   * @param next called by the thread that makes the decision; returns false if a head does not take
   *     its turn
   */
  LocalWait(Acquirer acquirer, Request request, BooleanSupplier next) {
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
    return acquirer.queues.enter(request.name(), request.share(), this);
  }

  /** Leaves the queue; false if its decision has been made, or is about to be. */
  boolean leave() {
    return acquirer.queues.of(request.name()).leave(this);
  }

  /** Waits for a decision that another thread, which does not block, is about to make. */
  void awaitDecision() {
    TimeSource time = acquirer.engine.platform;
    Awaiting.doneUninterruptibly(time, decision, Deadline.never(time));
  }

  /** Whether it has been decided that it is the head now. */
  boolean isHead() {
    return decision.join() == Decision.HEAD;
  }

  /** Returns how its acquisition ends, unless it is the head. */
  @Nullable LeaseState outcome() {
    return switch (decision.join()) {
      case HEAD -> throw new IllegalStateException("the head has yet to ask the store");
      case HANDED_OFF -> lease;
      case ANSWERED -> acquirer.timedOutInLine(request, answer);
      case OUTAGE -> throw acquirer.outage(request, requireNonNull(outage));
      case CLOSED -> throw acquirer.engine.closed();
    };
  }

  /** Ends the wait without a lease: what it was given, or is about to be, is passed on. */
  void abandon() {
    if (leave()) {
      return;
    }
    awaitDecision();
    LeaseState unwanted = lease;
    if (isHead()) {
      acquirer.holdings.pass(request.name());
    } else if (unwanted != null) {
      unwanted.giveUp(null);
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
    return decision.complete(made) && next.getAsBoolean();
  }

  @Override
  public boolean onHead() {
    return decide(Decision.HEAD);
  }

  @Override
  public void onHandoff(LeaseState handedOff) {
    lease = handedOff;
    var unused = decide(Decision.HANDED_OFF);
  }

  @Override
  public void onAnswer(LocalQueue.Answer known) {
    answer = known;
    var unused = decide(Decision.ANSWERED);
  }

  @Override
  public void onOutage(LockUnavailableException problem) {
    outage = problem;
    var unused = decide(Decision.OUTAGE);
  }

  @Override
  public void onClose() {
    var unused = decide(Decision.CLOSED);
  }
}
