package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition for which the calling thread waits, and on which it does its own I/O: its wait in
 * the local line. Used once.
 */
final class BlockingAcquisition implements LocalLine.Waiter {

  private enum Decision {
    HEAD,
    HANDED_OVER,
    CLOSED
  }

  private final Acquisition acquisition;
  private final Engine engine;
  private final long enteredAt;
  private final CompletableFuture<Decision> decision = new CompletableFuture<>();
  private volatile @Nullable LeaseState handedOver;

  private BlockingAcquisition(Acquisition acquisition) {
    this.acquisition = acquisition;
    this.engine = acquisition.engine();
    this.enteredAt = engine.time().nanoTime();
  }

  /**
   * Acquires. Most find nobody in line, and do not need a place there.
   *
   * @param handle makes what is returned of the lease
   * @return null if the time passed and that is no failure
   */
  static <R> @Nullable R run(Acquisition acquisition, Function<LeaseState, R> handle)
      throws InterruptedException {
    StackRoom.require();
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    Engine engine = acquisition.engine();
    R handed = null;
    while (handed == null) {
      engine.ensureOpen();
      LeaseState lease =
          engine.line().tryEnter(acquisition.name())
              ? acquisition.contend()
              : new BlockingAcquisition(acquisition).awaitTurn();
      if (lease == null) {
        return null;
      }
      handed = acquisition.hand(lease, handle);
    }
    return handed;
  }

  private @Nullable LeaseState awaitTurn() throws InterruptedException {
    Deadline deadline = acquisition.patience().deadline();
    if (deadline.hasPassed()) {
      return acquisition.timedOutInLine();
    }
    if (engine.line().enter(acquisition.name(), this)) {
      return acquisition.contend();
    }
    engine.ensureLineServed(this);
    boolean inTime;
    try {
      inTime = Awaiting.done(engine.time(), decision, deadline);
    } catch (InterruptedException | RuntimeException | Error e) {
      // Whatever ended the wait: a waiter that is left in line would be given the lock some day.
      if (!engine.line().leave(acquisition.name(), this)) {
        refuse(awaitDecision());
      }
      throw e;
    }
    if (!inTime && engine.line().leave(acquisition.name(), this)) {
      return acquisition.timedOutInLine();
    }
    return switch (awaitDecision()) {
      case HEAD -> acquisition.contend();
      case HANDED_OVER -> handedOver;
      case CLOSED -> throw engine.closed();
    };
  }

  // Out of line, so the decision has been taken, and is being told by a thread that does not block.
  private Decision awaitDecision() {
    Awaiting.doneUninterruptibly(engine.time(), decision, Deadline.never(engine.time()));
    return decision.join();
  }

  private void refuse(Decision unwanted) {
    LeaseState lease = handedOver;
    if (unwanted == Decision.HEAD) {
      engine.line().pass(acquisition.name());
    } else if (lease != null) {
      lease.release();
    }
  }

  @Override
  public Request request() {
    return acquisition.request();
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
  public void onHandOver(LeaseState lease) {
    handedOver = lease;
    decision.complete(Decision.HANDED_OVER);
  }

  @Override
  public void onClose() {
    decision.complete(Decision.CLOSED);
  }
}
