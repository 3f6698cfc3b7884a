package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockEvent;
import dev.interlock.Subscription;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
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
 * stays queued.
 */
final class Notifier {

  private static final Logger log = LoggerFactory.getLogger(Notifier.class);
  private static final long RETRY = Duration.ofMillis(100).toNanos();

  /** Calls that are made one after the other. */
  class Sequence {
    private final Starter threads;

    @GuardedBy("this")
    private final Deque<Runnable> calls = new ArrayDeque<>(1);

    @GuardedBy("this")
    private boolean running;

    /** Makes one of losses or events. */
    Sequence() {
      this(callbacks);
    }

    private Sequence(Starter threads) {
      this.threads = threads;
    }

    void note(Runnable call) {
      synchronized (this) {
        // First, because a call that is queued and not started would block all that follow.
        if (!running && calls.isEmpty()) {
          threads.due.add(new Start(this));
        }
        calls.add(call);
      }
    }

    // It may have been started twice: by two threads, or if it was not certain that one had
    // started.
    private void run() {
      synchronized (this) {
        if (running) {
          return;
        }
        running = true;
      }
      Runnable call;
      while ((call = next()) != null) {
        survive(call);
      }
    }

    private synchronized @Nullable Runnable next() {
      Runnable call = calls.poll();
      running = call != null;
      return call;
    }
  }

  /** A start of a sequence, each with an identity of its own. */
  private static final class Start implements Runnable {
    private final Sequence calls;

    Start(Sequence calls) {
      this.calls = calls;
    }

    @Override
    public void run() {
      calls.run();
    }
  }

  /** Runs code of the program, which in other languages may throw any exception. */
  private void survive(Runnable call) {
    try {
      call.run();
    } catch (Throwable e) {
      try {
        failures.note(() -> Timer.survive("a log", () -> log.warn("a listener failed", e)));
        flush();
      } catch (Throwable unreported) {
        // Without memory the failure is not logged, and those that follow are called.
      }
    }
  }

  /** Gets events under the monitor that guards the change they report, so it must not block. */
  interface Sink {
    void note(LockEvent event);
  }

  /** The calls of one listener. */
  final class ListenerCalls extends Sequence implements Sink, Subscription {
    private final Consumer<? super LockEvent> listener;
    private final Consumer<ListenerCalls> remover;
    private volatile boolean closed;

    private ListenerCalls(Consumer<? super LockEvent> listener, Consumer<ListenerCalls> remover) {
      this.listener = listener;
      this.remover = remover;
    }

    @Override
    public void note(LockEvent event) {
      note(
          () -> {
            if (!closed) {
              listener.accept(event);
            }
          });
    }

    @Override
    public void close() {
      closed = true;
      remover.accept(this);
    }
  }

  private final Platform platform;
  private final Starter callbacks;
  private final Starter deliveries;
  private final Timer timer;
  private final Sequence failures;
  private final List<ListenerCalls> ofClient = new CopyOnWriteArrayList<>();
  private final Timer.Event retry =
      new Timer.Event() {
        @Override
        void fire(long now) {
          flush();
        }
      };

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

  /**
   * Makes the queue of a listener, to which the caller adds events.
   *
   * @param remover called when the listener is to get no more
   */
  ListenerCalls calls(Consumer<? super LockEvent> listener, Consumer<ListenerCalls> remover) {
    return new ListenerCalls(listener, remover);
  }

  /** Registers a listener for all events. */
  Subscription add(Consumer<? super LockEvent> listener) {
    ListenerCalls calls = calls(listener, ofClient::remove);
    ofClient.add(calls);
    return calls;
  }

  /** Whether there is a listener for all events. */
  boolean hasListeners() {
    return !ofClient.isEmpty();
  }

  void noteAll(LockEvent event) {
    for (ListenerCalls calls : ofClient) {
      calls.note(event);
    }
  }

  /** Queues code of the program, to be run on a thread that it may block. */
  void note(Runnable callback) {
    new Sequence().note(callback);
  }

  /** Queues a callback and starts it. */
  void run(Runnable callback) {
    note(callback);
    flush();
  }

  /** Completes a future of the program, whose dependents may block. */
  void deliver(Runnable completion) {
    new Sequence(deliveries).note(completion);
    flush();
  }

  /** Starts the queued calls. Under no monitor; never throws. */
  void flush() {
    boolean all = callbacks.flush();
    // Without a thread for callbacks there may be one for deliveries.
    if (!deliveries.flush() || !all) {
      timer.schedule(retry, platform.nanoTime() + RETRY);
    }
  }

  /** The calls that wait for a thread of one group. */
  private final class Starter {
    private final Executor threads;
    private final Queue<Start> due = new ConcurrentLinkedQueue<>();

    Starter(Executor threads) {
      this.threads = threads;
    }

    /** Returns whether all have been started. */
    boolean flush() {
      Start next;
      while ((next = due.peek()) != null) {
        if (!isStarted(next)) {
          return false;
        }
        due.remove(next);
      }
      return true;
    }

    private boolean isStarted(Start start) {
      try {
        threads.execute(start);
        return true;
      } catch (RejectedExecutionException e) {
        return isStartedLate(start);
      } catch (Throwable e) {
        log.warn("listeners have to wait for a thread: {}", e.toString());
        return false;
      }
    }
  }

  /** The client is closed; a loss must still reach its listener, and no timer retries. */
  private boolean isStartedLate(Runnable calls) {
    try {
      platform.thread("late-callback", calls).start();
    } catch (Throwable e) {
      log.warn("a listener is called on the thread {}", Thread.currentThread().getName(), e);
      calls.run();
    }
    return true;
  }
}
