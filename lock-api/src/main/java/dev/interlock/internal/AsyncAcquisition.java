package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent.GaveUp.Reason;
import dev.interlock.LockUnavailableException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition that completes a future. In the local queue it occupies no thread; as the head it
 * contends on one of the client's threads. Used once.
 *
 * @param <R> what the future yields for a lease, or for none in time
 */
final class AsyncAcquisition<R> extends AsyncTask<LeaseState, R> implements LocalQueue.Waiter {

  private final long enteredAt;

  /** Whether its time is over, and it waits for the first answer to the head of the queue. */
  private volatile boolean asking;

  private AsyncAcquisition(
      DefaultLockClient engine,
      Request request,
      Function<@Nullable LeaseState, R> result,
      CompletableFuture<R> future) {
    super(engine, request, result, future);
    this.enteredAt = engine.platform.nanoTime();
  }

  static <R> CompletableFuture<R> start(
      DefaultLockClient engine, Request request, Function<@Nullable LeaseState, R> result) {
    return new AsyncAcquisition<>(engine, request, result, new CompletableFuture<>()).start();
  }

  @Override
  void enter() {
    if (request.asksOnce()) {
      var unused = execute(engine.threads.loops);
      return;
    }
    boolean isHead;
    try {
      isHead = engine.line.enter(request.name(), request.share(), this);
    } catch (LockConfigurationException e) {
      fail(e);
      return;
    }
    if (isHead) {
      if (!onHead()) {
        passOn();
      }
      return;
    }
    if (!request.isOver()) {
      engine.waits(request);
    }
    timeOutAt(request.deadline());
    engine.ensureLineServed(this);
    if (future.isDone() && leaveLine()) {
      // The future was done before this entered the queue.
      endWait();
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
  boolean leaveLine() {
    return engine.line.leave(request.name(), this);
  }

  @Override
  void passOn() {
    if (!request.asksOnce()) {
      engine.pass(request.name());
    }
  }

  @Override
  public boolean onHead() {
    AcquireLoop left = engine.line.loop(request.name());
    if (left != null) {
      left.awaitThread();
    }
    return execute(engine.threads.loops);
  }

  @Override
  public void onHandoff(LeaseState lease) {
    endWait();
    succeed(lease);
  }

  @Override
  boolean staysInLine() {
    if (asking) {
      return false;
    }
    LocalQueue.Answer answer = engine.line.ask(request.name(), this);
    switch (answer.kind()) {
      case PENDING -> {
        asking = true;
        timeOutAt(request.end());
      }
      case HELD, FAILED -> onAnswer(answer);
      case LEFT -> {
        return false;
      }
    }
    return true;
  }

  @Override
  public void onAnswer(LocalQueue.Answer answer) {
    endWait();
    end(() -> engine.timedOutInLine(request, answer));
  }

  @Override
  public void onOutage(LockUnavailableException problem) {
    endWait();
    fail(engine.outage(request, problem));
  }

  @Override
  public void onClose() {
    endWait();
    fail(engine.closed());
  }

  @Override
  @Nullable LeaseState work() throws InterruptedException {
    return request.asksOnce() ? engine.contendBeside(request) : engine.contend(request);
  }

  @Override
  @Nullable LeaseState timedOutInLine() {
    return engine.timedOutInLine(request, LocalQueue.Answer.PENDING);
  }

  @Override
  void deliver(@Nullable LeaseState lease) {
    if (lease != null && !lease.isHeld() && !future.isDone()) {
      // The lease ended before it got here, which counts as not granted.
      if (request.isOver()) {
        fail(engine.lostBeforeReturn(request, lease));
        return;
      }
      answered = true;
      var unused = new AsyncAcquisition<>(engine, request.again(), result, future).start();
    } else {
      if (lease == null) {
        engine.gaveUp(request, null, Reason.TIMED_OUT);
      }
      super.deliver(lease);
    }
  }

  @Override
  void failed(Throwable failure) {
    engine.failed(request, failure);
  }

  @Override
  void abandoned() {
    engine.gaveUp(request, null, Reason.CANCELLED);
  }

  @Override
  void giveUp(LeaseState lease) {
    lease.giveUp(null);
  }
}
