package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockEvent;
import dev.interlock.Registration;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the program's listeners, each in order and independently of the others: a listener that
 * throws or blocks does not affect another.
 *
 * <p>A call is queued under the monitor that guards the change it reports, and started by {@link
 * #flush} outside of that monitor, because starting a call may start a thread. A call for which no
 * thread starts stays queued until the timer flushes again.
 */
final class Notifier extends Timer.Event {

  private static final Logger log = LoggerFactory.getLogger(Notifier.class);
  private static final long RETRY_NANOS = Duration.ofMillis(100).toNanos();

  /** Calls that are made one after the other. */
  class Sequence implements Runnable {
    /** The queued calls. If there is no memory to add one, the queue stays as it was. */
    private final Queue<Runnable> calls = new ConcurrentLinkedQueue<>();

    /** Whether a task for the calls was queued and has not ended. */
    @GuardedBy("this")
    private boolean started;

    synchronized void enqueue(Runnable call) {
      if (!started) {
        callbacks.execute(this);
        started = true;
      }
      calls.add(call);
    }

    /** Makes the calls. An interrupt that one of them leaves behind does not reach the next. */
    @Override
    public void run() {
      boolean interrupted = false;
      try {
        Runnable call;
        while ((call = next()) != null) {
          interrupted |= Thread.interrupted();
          runGuarded(call);
        }
      } catch (Throwable e) {
        // The handling of a listener's failure has failed, too. The next call that is queued starts
        // the rest.
        markStopped();
        throw e;
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    private synchronized void markStopped() {
      started = false;
    }

    private synchronized @Nullable Runnable next() {
      Runnable next = calls.poll();
      started = next != null;
      return next;
    }
  }

  /** The calls of one listener while it is registered. */
  final class ListenerCalls extends Sequence implements Consumer<LockEvent>, Registration {
    private final Consumer<? super LockEvent> listener;
    private final Collection<? super ListenerCalls> registered;

    /**
     * Creates the calls of a listener that is not registered yet.
     *
     * @param registered the collection to which the caller adds this object; safe for use by
     *     several threads
     */
    ListenerCalls(
        Consumer<? super LockEvent> listener, Collection<? super ListenerCalls> registered) {
      this.listener = listener;
      this.registered = registered;
    }

    @Override
    public void accept(LockEvent event) {
      enqueue(
          () -> {
            if (registered.contains(this)) {
              listener.accept(event);
            }
          });
    }

    @Override
    public void close() {
      registered.remove(this);
    }
  }

  private final Platform platform;
  private final Starter callbacks;
  private final Starter deliveries;
  private final Timer timer;
  private final Sequence failures;
  private final List<ListenerCalls> clientListeners = new CopyOnWriteArrayList<>();

  /**
   * Creates a notifier without listeners.
   *
   * @param callbacks the threads for losses and events
   * @param deliveries the threads for results of asynchronous calls
   * @param timer retries the calls that found no thread
   */
  Notifier(Platform platform, Executor callbacks, Executor deliveries, Timer timer) {
    this.platform = platform;
    this.callbacks = new Starter(callbacks);
    this.deliveries = new Starter(deliveries);
    this.timer = timer;
    this.failures = new Sequence();
  }

  /** Registers a listener for all events of the client. */
  Registration add(Consumer<? super LockEvent> listener) {
    ListenerCalls calls = new ListenerCalls(listener, clientListeners);
    clientListeners.add(calls);
    return calls;
  }

  /** Whether there is a listener for all events of the client. */
  boolean hasListeners() {
    return !clientListeners.isEmpty();
  }

  void enqueueAll(LockEvent event) {
    clientListeners.forEach(calls -> calls.accept(event));
  }

  /** Queues code of the program, which may block its thread. */
  void enqueue(Runnable callback) {
    callbacks.execute(() -> runGuarded(callback));
  }

  /** Completes a future of the program, whose dependents may block. */
  void deliver(Runnable completion) {
    deliveries.execute(() -> runGuarded(completion));
    flush();
  }

  /** Returns a future that completes after another one, and occupies no thread until then. */
  <T> CompletableFuture<T> follow(CompletableFuture<T> other) {
    CompletableFuture<T> follower = new CompletableFuture<>();
    var unused = other.thenAccept(outcome -> deliver(() -> follower.complete(outcome)));
    return follower;
  }

  /** Runs code of the program, which in other languages may throw any exception. */
  private void runGuarded(Runnable call) {
    try {
      call.run();
    } catch (Throwable e) {
      try {
        failures.enqueue(() -> Timer.runGuarded("logging", () -> log.warn("a listener failed", e)));
        flush();
      } catch (Throwable unreported) {
        // If there is no memory to log the failure, the next calls are made nevertheless.
      }
    }
  }

  /** Starts the queued calls. Called under no monitor; never throws. */
  void flush() {
    boolean all = callbacks.flush();
    // If there is no thread for callbacks, there may be one for deliveries.
    if (!deliveries.flush() || !all) {
      timer.schedule(this, platform.nanoTime() + RETRY_NANOS);
    }
  }

  @Override
  void fire(long now) {
    flush();
  }

  /** Starts tasks on the threads of an executor. Keeps those for which no thread can be started. */
  private final class Starter implements Executor {
    private final Executor threads;
    private final Queue<Runnable> due = new ConcurrentLinkedQueue<>();

    Starter(Executor threads) {
      this.threads = threads;
    }

    /** Queues a task. It runs once, even if two threads start it. */
    @Override
    public void execute(Runnable task) {
      due.add(new FutureTask<>(task, null));
    }

    /** Starts the queued tasks; returns whether all were started. */
    boolean flush() {
      Runnable next;
      while ((next = due.peek()) != null) {
        if (!tryStart(next)) {
          return false;
        }
        due.remove(next);
      }
      return true;
    }

    private boolean tryStart(Runnable task) {
      try {
        threads.execute(task);
      } catch (RejectedExecutionException e) {
        startAfterClose(task);
      } catch (Throwable e) {
        log.warn("no thread can be started for listeners; trying again: {}", e.toString());
        return false;
      }
      return true;
    }
  }

  /**
   * Starts a call after the client was closed: a loss must still reach its listener, and no timer
   * retries.
   */
  private void startAfterClose(Runnable task) {
    try {
      platform.thread("late-callback", task).start();
    } catch (Throwable e) {
      log.warn(
          "no thread can be started for a listener; calling it on the thread {}",
          Thread.currentThread().getName(),
          e);
      task.run();
    }
  }
}
