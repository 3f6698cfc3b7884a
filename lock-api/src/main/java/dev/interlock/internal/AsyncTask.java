package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.internal.Acquisition.Patience;
import dev.interlock.spi.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Something blocking that is done for a future, on one of the client's threads. It is given up as
 * soon as somebody else completes or cancels the future, or its time is over before a thread has
 * begun it. It is its own time-out on the {@link Timer}.
 *
 * @param <T> what the work results in, which has to be given up if the future does not take it
 * @param <R> what the future yields
 */
abstract class AsyncTask<T, R> extends Timer.Event {

  private enum State {
    /** Not given to a thread yet. */
    WAITING,
    /** Waits for a free thread. */
    QUEUED,
    RUNNING,
    OVER
  }

  private final Engine engine;
  private final Patience patience;
  private final CompletableFuture<R> future;
  private volatile boolean answered;

  @GuardedBy("this")
  private State state = State.WAITING;

  @GuardedBy("this")
  private @Nullable Thread runner;

  AsyncTask(Engine engine, Patience patience, CompletableFuture<R> future) {
    this.engine = engine;
    this.patience = patience;
    this.future = future;
  }

  // --- what it does -----------------------------------------------------------------------------

  /** Gets in line, or lets a thread {@linkplain #execute begin}. */
  abstract void enter();

  /** The blocking part; null if the time passed and that is no failure. */
  abstract @Nullable T work() throws InterruptedException;

  /** Makes what the future yields. */
  abstract R result(@Nullable T done);

  /** Gives up what the future did not take. */
  abstract void giveUp(T done);

  /** Gets out of the line for a thread's work; false if it is in none, or out of it already. */
  boolean leaveLine() {
    return false;
  }

  /** Called in place of the work if that does not begin any more. */
  void passOn() {}

  /** What it comes to when its time is over in the line. */
  @Nullable T timedOutInLine() {
    return null;
  }

  // --- its life ---------------------------------------------------------------------------------

  final Engine engine() {
    return engine;
  }

  final CompletableFuture<R> future() {
    return future;
  }

  /** Begins, as long as the future is not done. */
  final void start() {
    // Before there is anything to be told: without its thread no answer would be tried again.
    engine.timer().start();
    var unused =
        future.whenComplete(
            (value, failure) -> {
              if (!answered) {
                cancel();
              }
            });
    try {
      enter();
    } catch (RuntimeException | Error e) {
      // Nobody will have this future: whatever has been begun ends with it.
      future.completeExceptionally(e);
      throw e;
    }
  }

  /** From here on its time-out holds, until the work begins or there is none to do. */
  final void timeOutAt(Deadline deadline) {
    engine.timer().schedule(this, deadline.nanos());
    synchronized (this) {
      if (state == State.WAITING || state == State.QUEUED) {
        return;
      }
    }
    engine.timer().cancel(this);
  }

  /** Gives it to a thread; false if its work does not begin any more. */
  final boolean execute(Executor threads) {
    if (!move(State.WAITING, State.QUEUED)) {
      return false;
    }
    try {
      timeOutAt(patience.forRequest());
      threads.execute(this::run);
    } catch (RuntimeException | Error e) {
      // The client was closed, or there is no thread to be had.
      if (withdraw()) {
        fail(e instanceof RejectedExecutionException ? engine.closed() : e);
        return false;
      }
    }
    return true;
  }

  private synchronized boolean move(State from, State to) {
    boolean moved = state == from;
    if (moved) {
      state = to;
    }
    return moved;
  }

  /** Takes it back from the threads, unless one has begun it. */
  private boolean withdraw() {
    boolean withdrawn = move(State.QUEUED, State.OVER);
    if (withdrawn) {
      endTime();
    }
    return withdrawn;
  }

  /** Out of line, for good. */
  final void endTime() {
    engine.timer().cancel(this);
  }

  private void cancel() {
    leaveLine();
    boolean queued;
    synchronized (this) {
      queued = state == State.QUEUED;
      state = State.OVER;
      if (runner != null) {
        runner.interrupt();
      }
    }
    if (queued) {
      passOn();
    }
    endTime();
  }

  @Override
  final void fire(long now) {
    if (leaveLine()) {
      engine
          .notifier()
          .run(
              () -> {
                try {
                  deliver(timedOutInLine());
                } catch (RuntimeException | Error e) {
                  answer(e);
                }
              });
    } else if (withdraw()) {
      passOn();
      fail(engine.unavailable("no thread was free in time to ask the store", null));
    }
  }

  private void run() {
    synchronized (this) {
      if (state != State.QUEUED) {
        return;
      }
      state = State.RUNNING;
      runner = Thread.currentThread();
    }
    endTime();
    try {
      T done = work();
      end();
      succeed(done);
    } catch (InterruptedException | RuntimeException | Error e) {
      end();
      fail(e);
    }
  }

  /** The thread is shared: an interrupt that comes too late must not reach its next task. */
  private synchronized void end() {
    runner = null;
    state = State.OVER;
    boolean tooLate = Thread.interrupted();
    if (tooLate) {
      Engine.log.trace("cancelled when it had just ended by itself");
    }
  }

  // --- the answer -------------------------------------------------------------------------------

  // The future's dependents are the user's code, which may block: never on an engine's thread.
  final void succeed(@Nullable T done) {
    boolean delivering = false;
    try {
      engine.notifier().run(() -> deliver(done));
      delivering = true;
    } finally {
      if (!delivering && done != null) {
        giveUp(done);
      }
    }
  }

  /** Whatever is thrown before the future has it gives it up. */
  void deliver(@Nullable T done) {
    boolean delivered = false;
    try {
      R result = result(done);
      answered = true;
      delivered = future.complete(result);
    } catch (RuntimeException | Error e) {
      answer(e);
    } finally {
      if (!delivered && done != null) {
        giveUp(done);
      }
    }
  }

  final void fail(Throwable failure) {
    engine.notifier().run(() -> answer(failure));
  }

  private void answer(Throwable failure) {
    answered = true;
    future.completeExceptionally(failure);
  }
}
