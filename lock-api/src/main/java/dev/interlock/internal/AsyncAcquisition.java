package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent.GaveUp.Reason;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition that completes a future. In the local queue it occupies no thread; as the head it
 * contends on one of the client's threads. Used once.
 *
 * @param <R> what the future yields for a lease, or for none in time
 */
final class AsyncAcquisition<R> extends AsyncTask<LeaseState, R> {

  private final Acquirer acquirer;
  private final LocalWait wait;

  /** Whether its time is over, and it waits for the first answer to the head of the queue. */
  private volatile boolean asking;

  private AsyncAcquisition(
      Acquirer acquirer,
      Request request,
      Function<@Nullable LeaseState, R> result,
      CompletableFuture<R> future) {
    super(acquirer.engine, request, result, future);
    this.acquirer = acquirer;
    this.wait = new LocalWait(acquirer, request, this::goOn);
  }

  static <R> CompletableFuture<R> start(
      Acquirer acquirer, Request request, Function<@Nullable LeaseState, R> result) {
    return new AsyncAcquisition<>(acquirer, request, result, new CompletableFuture<>()).start();
  }

  @Override
  void enter() {
    if (request.asksOnce()) {
      var unused = execute(engine.threads.loops);
      return;
    }
    boolean isHead;
    try {
      isHead = wait.enter();
    } catch (LockConfigurationException e) {
      fail(e);
      return;
    }
    if (isHead) {
      if (!wait.onHead()) {
        passOn();
      }
      return;
    }
    if (!request.isOver()) {
      engine.reports.noteWaiting(request);
    }
    timeOutAt(request.deadline());
    acquirer.ensureServed(wait);
    if (future.isDone() && wait.leave()) {
      // The future was done before this entered the queue.
      endWait();
    }
  }

  @Override
  void leaveQueue() {
    var unused = wait.leave();
  }

  @Override
  void passOn() {
    if (!request.asksOnce()) {
      acquirer.holdings.pass(request.name());
    }
  }

  private boolean goOn() {
    if (!wait.isHead()) {
      endWait();
      end(wait::outcome);
      return true;
    }
    Contender left = acquirer.queues.of(request.name()).contender();
    if (left != null) {
      left.awaitThread();
    }
    return execute(engine.threads.loops);
  }

  @Override
  boolean timesOutInQueue() {
    if (asking) {
      boolean left = wait.leave();
      if (left) {
        wait.onAnswer(LocalQueue.Answer.PENDING);
      }
      return left;
    }
    LocalQueue.Answer answer = acquirer.queues.of(request.name()).ask(wait);
    switch (answer.kind()) {
      case PENDING -> {
        asking = true;
        timeOutAt(request.end());
      }
      case HELD, FAILED -> wait.onAnswer(answer);
      case LEFT -> {
        return false;
      }
    }
    return true;
  }

  @Override
  @Nullable LeaseState work() throws InterruptedException {
    return request.asksOnce() ? acquirer.contendBeside(request) : acquirer.contend(request);
  }

  @Override
  void deliver(@Nullable LeaseState lease) {
    if (lease != null && !lease.isHeld() && !future.isDone()) {
      // The lease ended before it got here, which counts as not granted.
      if (request.isOver()) {
        fail(acquirer.lostBeforeReturn(request, lease));
        return;
      }
      answered = true;
      var unused = new AsyncAcquisition<>(acquirer, request.again(), result, future).start();
    } else {
      if (lease == null) {
        engine.reports.noteGivenUp(request, null, Reason.TIMED_OUT);
      }
      super.deliver(lease);
    }
  }

  @Override
  void onFailure(Throwable failure) {
    engine.reports.noteFailure(request, failure);
  }

  @Override
  void onAbandoned() {
    engine.reports.noteGivenUp(request, null, Reason.CANCELLED);
  }

  @Override
  void giveUp(LeaseState lease) {
    lease.giveUp(null);
  }
}
