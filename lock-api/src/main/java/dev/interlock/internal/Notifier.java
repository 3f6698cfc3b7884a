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
 * Calls the program's listeners, each in order and independently of the others, so that one that
 * throws or blocks does not affect another.
 *
 * <p>A call is queued under the monitor that guards the change that it reports, and started by
 * {@link #flush} outside of it, because that starts threads. A call for which no thread starts
 * stays queued, until the timer flushes again.
 */
final class Notifier extends Timer.Event {

  private static final Logger log = LoggerFactory.getLogger(Notifier.class);
  private static final long RETRY = Duration.ofMillis(100).toNanos();

  /** Calls that are made one after the other. */
  class Sequence implements Runnable {
    /** What is to be called; adding to it without memory leaves it as it was. */
    private final Queue<Runnable> calls = new ConcurrentLinkedQueue<>();

    /** Whether a task for the calls has been queued and has not ended. */
    @GuardedBy("this")
    private boolean started;

    synchronized void note(Runnable call) {
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
          survive(call);
        }
      } catch (Throwable e) {
        // The stack was full even here. The next call starts the rest.
        giveUp();
        throw e;
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    private synchronized void giveUp() {
      started = false;
    }

    private synchronized @Nullable Runnable next() {
      Runnable next = calls.poll();
      started = next != null;
      return next;
    }
  }

  /** The calls of one listener, for as long as it is registered. */
  final class ListenerCalls extends Sequence implements Consumer<LockEvent>, Registration {
    private final Consumer<? super LockEvent> listener;
    private final Collection<? super ListenerCalls> registered;

    /**
     * Makes calls that are not registered yet.
     *
     * @param registered where the caller adds them; many threads may use it at once
     */
    ListenerCalls(
        Consumer<? super LockEvent> listener, Collection<? super ListenerCalls> registered) {
      this.listener = listener;
      this.registered = registered;
    }

    @Override
    public void accept(LockEvent event) {
      note(
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
  private final List<ListenerCalls> ofClient = new CopyOnWriteArrayList<>();

  /**
   * Makes one without listeners.
   *
   * @param callbacks the threads for losses and events
   * @param deliveries the threads for results of asynchronous calls
   * @param timer for calls that found no thread
   */
  Notifier(Platform platform, Executor callbacks, Executor deliveries, Timer timer) {
    this.platform = platform;
    this.callbacks = new Starter(callbacks);
    this.deliveries = new Starter(deliveries);
    this.timer = timer;
    this.failures = new Sequence();
  }

  /** Registers a listener for all events. */
  Registration add(Consumer<? super LockEvent> listener) {
    ListenerCalls calls = new ListenerCalls(listener, ofClient);
    ofClient.add(calls);
    return calls;
  }

  /** Whether there is a listener for all events. */
  boolean hasListeners() {
    return !ofClient.isEmpty();
  }

  void noteAll(LockEvent event) {
    ofClient.forEach(calls -> calls.accept(event));
  }

  /** Queues code of the program, to be run on a thread that it may block. */
  void note(Runnable callback) {
    callbacks.execute(() -> survive(callback));
  }

  /** Completes a future of the program, whose dependents may block. */
  void deliver(Runnable completion) {
    deliveries.execute(() -> survive(completion));
    flush();
  }

  /** Returns a future that completes after another one, and occupies no thread until then. */
  <T> CompletableFuture<T> follow(CompletableFuture<T> other) {
    CompletableFuture<T> follower = new CompletableFuture<>();
    var unused = other.thenAccept(outcome -> deliver(() -> follower.complete(outcome)));
    return follower;
  }

  /** Runs code of the program, which in other languages may throw any exception. */
  private void survive(Runnable call) {
    try {
      call.run();
    } catch (Throwable e) {
      try {
        failures.note(() -> Timer.survive("logging", () -> log.warn("a listener failed", e)));
        flush();
      } catch (Throwable unreported) {
        // Without memory the failure is not logged, and those that follow are called.
      }
    }
  }

  /** Starts the queued calls. Under no monitor; never throws. */
  void flush() {
    boolean all = callbacks.flush();
    // Without a thread for callbacks there may be one for deliveries.
    if (!deliveries.flush() || !all) {
      timer.schedule(this, platform.nanoTime() + RETRY);
    }
  }

  @Override
  void fire(long now) {
    flush();
  }

  /** The tasks that wait for a thread of one group. */
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

    /** Returns whether all have been started. */
    boolean flush() {
      Runnable next;
      while ((next = due.peek()) != null) {
        if (!isStarted(next)) {
          return false;
        }
        due.remove(next);
      }
      return true;
    }

    private boolean isStarted(Runnable task) {
      try {
        threads.execute(task);
      } catch (RejectedExecutionException e) {
        startLate(task);
      } catch (Throwable e) {
        log.warn("no thread can be started for listeners; trying again: {}", e.toString());
        return false;
      }
      return true;
    }
  }

  /** The client is closed; a loss must still reach its listener, and no timer retries. */
  private void startLate(Runnable task) {
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
