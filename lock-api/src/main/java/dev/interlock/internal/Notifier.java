package dev.interlock.internal;

import com.google.common.util.concurrent.MoreExecutors;
import dev.interlock.LockEvent;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the user's listeners: each in order, each on its own, so that one that throws or blocks
 * harms no other.
 */
final class Notifier {

  private static final Logger log = LoggerFactory.getLogger(Notifier.class);

  /** One listener and the order of its calls. */
  static final class Subscription {
    private final Consumer<? super LockEvent> listener;
    private final Platform platform;
    private final Executor inOrder;

    private Subscription(
        Consumer<? super LockEvent> listener, Platform platform, Executor callbacks) {
      this.listener = listener;
      this.platform = platform;
      this.inOrder = MoreExecutors.newSequentialExecutor(callbacks);
    }

    void tell(LockEvent event) {
      run(
          platform,
          inOrder,
          () -> {
            try {
              listener.accept(event);
            } catch (RuntimeException | Error e) {
              log.warn("a listener failed on {}", event, e);
            }
          });
    }
  }

  private final Platform platform;
  private final Executor callbacks;
  private final List<Subscription> subscriptions = new CopyOnWriteArrayList<>();

  Notifier(Platform platform, Executor callbacks) {
    this.platform = platform;
    this.callbacks = callbacks;
  }

  Subscription subscription(Consumer<? super LockEvent> listener) {
    return new Subscription(listener, platform, callbacks);
  }

  void add(Consumer<? super LockEvent> listener) {
    subscriptions.add(subscription(listener));
  }

  boolean hasListeners() {
    return !subscriptions.isEmpty();
  }

  void tellAll(LockEvent event) {
    for (Subscription subscription : subscriptions) {
      subscription.tell(event);
    }
  }

  /** Runs something of the user's on a thread that it may block. */
  void run(Runnable callback) {
    run(platform, callbacks, callback);
  }

  private static void run(Platform platform, Executor executor, Runnable callback) {
    try {
      executor.execute(callback);
    } catch (RejectedExecutionException e) {
      // Only after the client was closed; the loss signal must still reach its listener.
      platform.thread("late-callback", callback).start();
    }
  }
}
