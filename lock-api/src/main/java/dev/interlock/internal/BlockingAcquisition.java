package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import org.jspecify.annotations.Nullable;

/** An acquisition for which the calling thread waits, and on which it does its own I/O. */
final class BlockingAcquisition extends Acquisition {

  private enum Decision {
    HEAD,
    HANDED_OVER,
    CLOSED
  }

  private final WakeUp decided;
  private volatile @Nullable LeaseState handedOver;
  private volatile @Nullable Decision decision;

  private BlockingAcquisition(Engine engine, Request request, Patience patience) {
    super(engine, request, patience);
    this.decided = new WakeUp(engine.time());
  }

  /**
   * Acquires. Most find nobody in line, and do not need a place there.
   *
   * @return null if the time passed and that is no failure
   */
  static @Nullable LeaseState run(Engine engine, Request request, Patience patience)
      throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    // Before it is the head: from there on nothing may come between it and its passing on.
    long enteredAt = engine.time().nanoTime();
    return engine.line().tryEnter(request.name())
        ? contend(engine, request, patience, enteredAt)
        : new BlockingAcquisition(engine, request, patience).run();
  }

  private @Nullable LeaseState run() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (engine().line().enter(request().name(), this)) {
      return contend();
    }
    engine().ensureLineServed(this);
    boolean inTime;
    try {
      inTime = decided.await(deadline());
    } catch (InterruptedException | RuntimeException | Error e) {
      // Whatever ended the wait: a waiter that is left in line would be given the lock some day.
      if (!engine().line().leave(request().name(), this)) {
        refuse(awaitDecision());
      }
      throw e;
    }
    if (!inTime && engine().line().leave(request().name(), this)) {
      return timedOutInLine();
    }
    return switch (awaitDecision()) {
      case HEAD -> contend();
      case HANDED_OVER -> accept(handedOver);
      case CLOSED -> throw engine().closed();
    };
  }

  private @Nullable LeaseState accept(@Nullable LeaseState lease) throws InterruptedException {
    if (lease != null && lease.isHeld()) {
      return lease;
    }
    // It ended before this thread ran again, which counts as not granted.
    engine().ensureOpen();
    handedOver = null;
    decision = null;
    return run();
  }

  // Out of line, so the decision has been taken, and is being told by a thread that does not block.
  private Decision awaitDecision() {
    boolean interrupted = false;
    try {
      while (true) {
        Decision taken = decision;
        if (taken != null) {
          return taken;
        }
        try {
          decided.await(Deadline.in(engine().time(), engine().requestTimeout()));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void refuse(Decision unwanted) {
    LeaseState lease = handedOver;
    if (unwanted == Decision.HEAD) {
      engine().line().pass(request().name());
    } else if (lease != null) {
      lease.release();
    }
  }

  @Override
  public void onHead() {
    decide(Decision.HEAD);
  }

  @Override
  public void onHandOver(LeaseState lease) {
    handedOver = lease;
    decide(Decision.HANDED_OVER);
  }

  @Override
  public void onClose() {
    decide(Decision.CLOSED);
  }

  private void decide(Decision taken) {
    decision = taken;
    decided.signal();
  }
}
