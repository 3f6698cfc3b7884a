package dev.interlock.peers;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The owner of one lock, for libraries whose locks belong to threads. This thread makes all calls
 * for the lock, so that any thread can use the lease.
 */
final class OwnerThread implements AutoCloseable {

  /** A call without a result. */
  interface Action {
    void run() throws Exception;
  }

  private final BlockingQueue<Runnable> calls = new LinkedBlockingQueue<>();
  private final Thread thread = new Thread(this::work, "lock-owner");
  private boolean ended; // only used by the owner thread
  private boolean inCall;
  private boolean interruptPending;

  OwnerThread() {
    thread.setDaemon(true);
    thread.start();
  }

  long id() {
    return thread.getId();
  }

  private void work() {
    try {
      while (!ended) {
        calls.take().run();
      }
    } catch (InterruptedException e) {
      // cannot happen: only calls are interrupted
    }
  }

  /**
   * Acquires a lock on a new thread. The thread ends if the lock is not acquired.
   *
   * @param acquisition returns null if the lock was not acquired
   * @param hold converts the result of the acquisition to a hold
   * @return the hold, or null
   */
  static <T> @Nullable Hold acquire(
      Callable<@Nullable T> acquisition, BiFunction<OwnerThread, T, Hold> hold) throws Exception {
    OwnerThread owner = new OwnerThread();
    @Nullable T granted = null;
    try {
      granted = owner.call(acquisition);
      return granted == null ? null : hold.apply(owner, granted);
    } finally {
      if (granted == null) {
        owner.close();
      }
    }
  }

  /** Makes a call on the owner thread, and forwards interrupts of the caller to it. */
  <T extends @Nullable Object> T call(Callable<T> call) throws Exception {
    FutureTask<T> result =
        new FutureTask<>(
            () -> {
              beginCall();
              try {
                return call.call();
              } finally {
                endCall();
              }
            });
    calls.add(result);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return result.get();
        } catch (InterruptedException e) {
          interrupted = true;
          forwardInterrupt();
        }
      }
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof InterruptedException) {
        interrupted = false; // the exception reports the interrupt to the caller
      }
      if (cause instanceof Error error) {
        throw error;
      }
      throw cause instanceof Exception exception ? exception : e;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Makes a call without a result on the owner thread. */
  void run(Action action) throws Exception {
    call(
        () -> {
          action.run();
          return true;
        });
  }

  private synchronized void beginCall() {
    inCall = true;
    if (interruptPending) {
      interruptPending = false;
      thread.interrupt();
    }
  }

  private synchronized void forwardInterrupt() {
    if (inCall) {
      thread.interrupt();
    } else {
      interruptPending = true;
    }
  }

  private synchronized void endCall() {
    inCall = false;
    interruptPending = false;
    boolean unused = Thread.interrupted();
  }

  /** Ends the thread after all calls that are already queued. */
  @Override
  public void close() {
    calls.add(() -> ended = true);
  }
}
