package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.LockEvent.GaveUp.Reason;
import dev.interlock.LockKind;
import dev.interlock.LockUnavailableException;
import dev.interlock.internal.LocalQueue.Answer.Kind;
import dev.interlock.spi.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The wait of a blocking acquisition in the local queue. The calling thread does its own I/O. Used
 * once.
 */
final class BlockingAcquisition implements LocalQueue.Waiter {

  private enum Decision {
    HEAD,
    HANDED_OVER,
    ANSWERED,
    FAILED,
    CLOSED
  }

  private final DefaultLockClient engine;
  private final Request request;
  private final long enteredAt;
  private final CompletableFuture<Decision> decision = new CompletableFuture<>();
  private volatile @Nullable LeaseState handedOver;
  private volatile LocalQueue.Answer answer = LocalQueue.Answer.PENDING;
  private volatile @Nullable LockUnavailableException outage;

  private BlockingAcquisition(DefaultLockClient engine, Request request) {
    this.engine = engine;
    this.request = request;
    this.enteredAt = engine.platform.nanoTime();
  }

  /**
   * Acquires the lock. Most acquisitions find the queue empty, and need no place there.
   *
   * @param handle makes the result from the lease
   * @return null if the time passed without a failure
   */
  static <R> @Nullable R run(
      DefaultLockClient engine, Request request, Function<LeaseState, R> handle)
      throws InterruptedException {
    StackRoom.require();
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    Request current = request;
    while (true) {
      LeaseState lease = attempt(engine, current);
      if (lease == null) {
        return null;
      }
      R handed = hand(lease, current, handle);
      if (handed != null) {
        return handed;
      }
      if (request.isOver()) {
        throw engine.lostBeforeReturn(request, lease);
      }
      current = current.again();
    }
  }

  private static @Nullable LeaseState attempt(DefaultLockClient engine, Request request)
      throws InterruptedException {
    try {
      engine.ensureOpen();
      LeaseState lease = null;
      if (request.asksOnce()) {
        lease = engine.contendBeside(request);
      } else if (engine.line.tryEnter(request.name(), request.share())) {
        lease = engine.contend(request);
      } else {
        lease = isWorthAsking(engine, request) ? askOnce(engine, request) : null;
        if (lease == null) {
          lease = new BlockingAcquisition(engine, request).awaitTurn();
        }
      }
      if (lease == null) {
        engine.gaveUp(request, null, Reason.TIMED_OUT);
      }
      return lease;
    } catch (Throwable e) {
      engine.failed(request, e);
      throw e;
    }
  }

  /** Whether a permit may be free: the store has not made the head of the queue wait. */
  private static boolean isWorthAsking(DefaultLockClient engine, Request request) {
    return request.share().kind() == LockKind.SEMAPHORE
        && !request.share().isWhole()
        && !engine.line.isWaitedFor(request.name());
  }

  private static @Nullable LeaseState askOnce(DefaultLockClient engine, Request request)
      throws InterruptedException {
    try {
      return engine.contendBeside(request.once(engine.requestTimeout()));
    } catch (LockUnavailableException e) {
      // The wait in the queue repeats the attempt.
      DefaultLockClient.log.debug("{} could not be asked for at once", request.name(), e);
      return null;
    }
  }

  /**
   * Makes the result from a lease. An exception between the grant and the return of this method
   * gives the lock up.
   *
   * @return null if the lease ended before it got here, which counts as not granted
   */
  private static <R> @Nullable R hand(
      LeaseState lease, Request request, Function<LeaseState, R> handle) {
    R handed = null;
    try {
      if (lease.phase() == LeaseState.Phase.HELD) {
        if (!request.ofSet()) {
          // Here, and not where the handle is made, because each frame on the stack costs.
          lease.site(request.engine().callSites.current(request.name()));
        }
        handed = handle.apply(lease);
      }
      return handed;
    } finally {
      if (handed == null) {
        lease.giveUp(null);
      }
    }
  }

  private @Nullable LeaseState awaitTurn() throws InterruptedException {
    if (engine.line.enter(request.name(), request.share(), this)) {
      return engine.contend(request);
    }
    if (!request.isOver()) {
      engine.waits(request);
    }
    engine.ensureLineServed(this);
    LocalQueue.Answer known;
    try {
      known = answerInTime();
    } catch (Throwable e) {
      // A waiter that stayed in the queue would be granted the lock later.
      if (!engine.line.leave(request.name(), this)) {
        refuse(awaitDecision());
      }
      throw e;
    }
    if (known != null) {
      return engine.timedOutInLine(request, known);
    }
    return switch (awaitDecision()) {
      case HEAD -> engine.contend(request);
      case HANDED_OVER -> handedOver();
      case ANSWERED -> engine.timedOutInLine(request, answer);
      case FAILED -> throw engine.outage(request, requireNonNull(outage));
      case CLOSED -> throw engine.closed();
    };
  }

  /**
   * Waits for a decision and, if none comes in time, for the first answer to the head of the queue.
   *
   * @return null for a decision; otherwise this has left the queue
   */
  private LocalQueue.@Nullable Answer answerInTime() throws InterruptedException {
    if (isDecided(request.deadline())) {
      return null;
    }
    LocalQueue.Answer known = engine.line.ask(request.name(), this);
    boolean decides = known.kind() == Kind.HELD || known.kind() == Kind.FAILED;
    if (decides || (!isDecided(request.end()) && engine.line.leave(request.name(), this))) {
      return known;
    }
    return null;
  }

  private boolean isDecided(Deadline until) throws InterruptedException {
    return Awaiting.done(engine.platform, decision, until);
  }

  // Another thread, which does not block, has already decided and is about to report it.
  private Decision awaitDecision() {
    if (!decision.isDone()) {
      Awaiting.doneUninterruptibly(engine.platform, decision, Deadline.never(engine.platform));
    }
    return decision.join();
  }

  private @Nullable LeaseState handedOver() {
    LeaseState lease = handedOver;
    // The lease may have ended before this thread continued.
    var unused = lease != null && lease.isHeld();
    return lease;
  }

  private void refuse(Decision unwanted) {
    LeaseState lease = handedOver;
    if (unwanted == Decision.HEAD) {
      engine.pass(request.name());
    } else if (lease != null) {
      lease.giveUp(null);
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

  @Override
  public boolean onHead() {
    decision.complete(Decision.HEAD);
    return true;
  }

  @Override
  public void onHandoff(LeaseState lease) {
    handedOver = lease;
    decision.complete(Decision.HANDED_OVER);
  }

  @Override
  public void onAnswer(LocalQueue.Answer known) {
    answer = known;
    decision.complete(Decision.ANSWERED);
  }

  @Override
  public void onOutage(LockUnavailableException problem) {
    outage = problem;
    decision.complete(Decision.FAILED);
  }

  @Override
  public void onClose() {
    decision.complete(Decision.CLOSED);
  }
}
