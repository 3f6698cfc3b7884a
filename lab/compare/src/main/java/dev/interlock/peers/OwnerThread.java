package dev.interlock.peers;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
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

  /** Makes a call on the thread, and passes interrupts of the caller on to it. */
  <T extends @Nullable Object> T call(Callable<T> call) throws Exception {
    CompletableFuture<T> result = new CompletableFuture<>();
    calls.add(
        () -> {
          begin();
          try {
            T value = call.call();
            end();
            result.complete(value);
          } catch (Throwable e) {
            end();
            result.completeExceptionally(e);
          }
        });
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
