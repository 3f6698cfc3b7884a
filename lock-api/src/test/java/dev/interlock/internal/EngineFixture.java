package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;

/** An engine on a clock that stands still, in front of a store that does as it is told. */
abstract class EngineFixture {

  static final Duration TTL = Duration.ofSeconds(9);
  static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(1);
  static final LockOptions RENEWED =
      LockOptions.builder().ttl(TTL).requestTimeout(REQUEST_TIMEOUT).build();
  static final LockOptions FIXED = RENEWED.toBuilder().autoRenew(false).build();

  /** The step of the clock while a test waits for something else. */
  static final Duration STEP = Duration.ofMillis(100);

  final ManualTime time = new ManualTime();
  final FakeStore store = new FakeStore(time);
  final DefaultLockClient engine = new DefaultLockClient(store::open, RENEWED, time);
  private final List<DefaultLockClient> others = new ArrayList<>();

  @AfterEach
  void close() {
    store.down(false);
    engine.close();
    others.forEach(DefaultLockClient::close);
  }

  DefaultLockClient anotherClient() {
    DefaultLockClient other = new DefaultLockClient(store::open, RENEWED, time);
    others.add(other);
    return other;
  }

  /** Sets the given options on a lock. */
  static Consumer<LockOptions.Builder> like(LockOptions wanted) {
    return options ->
        options
            .ttl(wanted.ttl())
            .autoRenew(wanted.autoRenew())
            .maxHold(wanted.maxHold().orElse(null))
            .waitTimeout(wanted.waitTimeout().orElse(null));
  }

  Request acquireRequest(LockOptions options) {
    return Request.forAcquire(engine.engine, "a", Share.EXCLUSIVE, options, null);
  }

  Lease acquire(LockOptions options) throws InterruptedException {
    return engine.lock("a", like(options)).acquire();
  }

  /** Lets time pass until the condition holds. */
  void advanceUntil(String what, BooleanSupplier condition) {
    advanceUntil(
        time,
        what,
        () -> {
          awaitRenewalsToBegin();
          return condition.getAsBoolean();
        });
  }

  /** A thread that was woken for a renewal and has not run yet does not look busy. */
  private void awaitRenewalsToBegin() {
    CompletableFuture<Void> behind = new CompletableFuture<>();
    try {
      engine.engine.threads.renewal.execute(() -> behind.complete(null));
    } catch (RejectedExecutionException e) {
      return; // the client was closed
    }
    behind.orTimeout(30, TimeUnit.SECONDS).join();
  }

  static void advanceUntil(ManualTime time, String what, BooleanSupplier condition) {
    Waits.until(
        what,
        () -> {
          if (!condition.getAsBoolean()) {
            time.advanceToNext(STEP);
          }
          return condition.getAsBoolean();
        });
  }

  /**
   * Returns the events of a lease except single failed renewals, whose number depends on chance.
   */
  static BlockingQueue<LockEvent> eventsOf(Lease lease) {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    lease.onEvent(
        event -> {
          if (!(event instanceof LockEvent.RenewalFailed)) {
            events.add(event);
          }
        });
    return events;
  }

  static LockEvent next(BlockingQueue<LockEvent> events) throws InterruptedException {
    LockEvent event = events.poll(30, TimeUnit.SECONDS);
    assertTrue(event != null, "no event came");
    return event;
  }

  static <E> E next(BlockingQueue<LockEvent> events, Class<E> type) throws InterruptedException {
    return type.cast(next(events));
  }

  static <T> T get(CompletableFuture<T> future) throws Exception {
    return future.get(30, TimeUnit.SECONDS);
  }

  /** A blocking task on a thread of its own. */
  static final class Background<T> {
    final CompletableFuture<T> result = new CompletableFuture<>();
    final Thread thread;

    Background(Callable<T> task) {
      thread =
          new Thread(
              () -> {
                try {
                  result.complete(task.call());
                } catch (Throwable e) {
                  result.completeExceptionally(e);
                }
              },
              "background");
      thread.setDaemon(true);
      thread.start();
    }

    T get() throws Exception {
      return result.get(30, TimeUnit.SECONDS);
    }
  }

  static <T> Background<T> inBackground(Callable<T> task) {
    return new Background<>(task);
  }
}
