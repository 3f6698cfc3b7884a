package dev.interlock.peers;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The thread that owns one lock of a library whose locks belong to threads. It makes all calls for
 * that lock, so that the lease can be used by any thread.
 */
final class OwnerThread implements AutoCloseable {

  /** A call without a result. */
  interface Action {
    void run() throws Exception;
  }

  private final BlockingQueue<Runnable> calls = new LinkedBlockingQueue<>();
  private final Thread thread = new Thread(this::work, "lock-owner");
  private boolean ended; // of the thread alone
  private boolean busy;
  private boolean interrupt;

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
      // nobody interrupts it between calls
    }
  }

  /**
   * Acquires a lock on a new thread, which ends if the lock is not acquired.
   *
   * @param acquisition returns null if the lock was not acquired
   * @param hold makes a hold of what the acquisition returned
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

  /** Makes a call on the thread, and passes interrupts of the caller on to it. */
  <T extends @Nullable Object> T call(Callable<T> call) throws Exception {
    FutureTask<T> result =
        new FutureTask<>(
            () -> {
              begin();
              try {
                return call.call();
              } finally {
                end();
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
          pass();
        }
      }
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof InterruptedException) {
        interrupted = false; // this is how the caller learns of it
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

  /** Makes a call without a result in the same way. */
  void run(Action action) throws Exception {
    call(
        () -> {
          action.run();
          return true;
        });
  }

  private synchronized void begin() {
    busy = true;
    if (interrupt) {
      interrupt = false;
      thread.interrupt();
    }
  }

  private synchronized void pass() {
    if (busy) {
      thread.interrupt();
    } else {
      interrupt = true;
    }
  }

  private synchronized void end() {
    busy = false;
    interrupt = false;
    boolean unused = Thread.interrupted();
  }

  /** Ends the thread after the calls that were begun. */
  @Override
  public void close() {
    calls.add(() -> ended = true);
  }
}
