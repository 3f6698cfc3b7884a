package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaderElection.Leader;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Asks the store for the leader, for all observers of one name: every poll interval, and soon after
 * the store has hinted at a change. Between two requests it occupies no thread.
 *
 * <p>An observer must not see a leader that resigned before the observation began: it gets only
 * answers to requests that began later.
 */
final class LeaderWatch extends Timer.Event {

  /** The minimum time between two requests, however often the store hints. */
  static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long MAX_SPREAD_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final LockBackend.Watch NO_HINTS = () -> {};

  private enum Phase {
    /** The timer will begin the next request. */
    IDLE,
    /** The next request waits for a thread, if none is free. */
    QUEUED,
    /** A request is in flight. */
    ASKING,
    /** The last observer has left, or the client was closed. */
    OVER
  }

  private final Engine engine;
  private final String name;
  private final Backoff backoff;

  /** Signalled by the store and for a new observer; consumed by the next request. */
  private final WakeUp hint;

  /** The store's watch; null until it is made, and {@link #NO_HINTS} if none will be. */
  private final AtomicReference<LockBackend.@Nullable Watch> hints;

  @GuardedBy("this")
  private final List<LeaderObserver> observers = new ArrayList<>();

  @GuardedBy("this")
  private Phase phase = Phase.IDLE;

  /** The number of the last request that has begun. */
  @GuardedBy("this")
  private long lastRequest;

  /** The earliest time of the next request. */
  @GuardedBy("this")
  private long mayAskAt;

  private volatile boolean refusalIsLogged;

  LeaderWatch(Engine engine, String name) {
    this.engine = engine;
    this.name = name;
    this.backoff = new Backoff(engine.platform, engine.options.ttl());
    this.hint = new WakeUp(engine.platform, this::askSoon);
    this.hints = new AtomicReference<>(engine.store instanceof QueueingBackend ? NO_HINTS : null);
    this.mayAskAt = engine.platform.nanoTime();
  }

  synchronized void add(LeaderObserver observer) {
    observers.add(observer);
  }

  /** Removes an observer; returns whether the watch is over. */
  synchronized boolean remove(LeaderObserver observer) {
    observers.remove(observer);
    if (observers.isEmpty()) {
      phase = Phase.OVER;
    }
    return phase == Phase.OVER;
  }

  /** Begins a request as soon as possible, after the one in flight. Neither blocks nor throws. */
  void ask() {
    hint.signal();
  }

  private void askSoon() {
    long now = engine.platform.nanoTime();
    synchronized (this) {
      if (phase != Phase.IDLE) {
        return;
      }
      setDue(earliestRequest(now));
    }
    engine.timer.update(this);
  }

  @GuardedBy("this")
  private long earliestRequest(long now) {
    return now - mayAskAt < 0 ? mayAskAt : now;
  }

  @Override
  void fire(long now) {
    synchronized (this) {
      if (phase == Phase.OVER) {
        return;
      }
      phase = Phase.QUEUED;
      setRetryDue(now);
    }
    engine.timer.update(this);
    try {
      engine.threads.observers.execute(this::request);
    } catch (RejectedExecutionException e) {
      // The client was closed, which has ended this watch.
      return;
    }
  }

  /** Sets a time for the next request, in case the end of this one is never recorded. */
  @GuardedBy("this")
  private void setRetryDue(long now) {
    setDue(now + 3 * engine.requestTimeout().toNanos());
  }

  private void request() {
    long now = engine.platform.nanoTime();
    List<LeaderObserver> asking;
    long number;
    synchronized (this) {
      if (phase != Phase.QUEUED) {
        return;
      }
      asking = List.copyOf(observers);
      number = ++lastRequest;
      phase = Phase.ASKING;
      mayAskAt = now + MIN_PAUSE_NANOS;
      setRetryDue(now);
      hint.consume();
    }
    engine.timer.update(this);
    long minPause = 0;
    try {
      watchStore();
      onAnswer(number, SeenLeader.from(engine.inspect(name)), asking);
      backoff.reset();
      refusalIsLogged = false;
    } catch (Throwable e) {
      minPause = backoff.nextNanos();
      Timer.runGuarded("logging", () -> log(e));
    } finally {
      onRequestEnd(number, minPause);
    }
  }

  /** Called before the first request, so that no later change is missed. */
  private void watchStore() {
    if (hints.get() != null) {
      return;
    }
    try {
      LockBackend.Watch watch = engine.store.watch(name, hint);
      if (!hints.compareAndSet(null, watch)) {
        close(watch);
      }
    } catch (LockUnavailableException e) {
      Engine.log.debug("the backend cannot watch \"{}\" now; polling", name, e);
    }
  }

  private void onAnswer(long number, Optional<Leader> leader, List<LeaderObserver> asking) {
    synchronized (this) {
      // After the machine has slept, two requests may be in flight, and the store may see them in
      // either order. Only the later one counts, so that no observer goes back to an earlier state.
      if (number != lastRequest) {
        return;
      }
      asking.forEach(observer -> observer.onAnswer(leader));
    }
    engine.notifier.flush();
  }

  private void onRequestEnd(long number, long minPause) {
    long now = engine.platform.nanoTime();
    synchronized (this) {
      if (number != lastRequest || phase != Phase.ASKING) {
        return;
      }
      phase = Phase.IDLE;
      boolean hinted = hint.consume() && minPause == 0;
      setDue(hinted ? earliestRequest(now) : now + Math.max(minPause, untilNextPoll()));
    }
    engine.timer.update(this);
  }

  // Slightly later at random, so that the observers of a leader do not poll in step.
  @GuardedBy("this")
  private long untilNextPoll() {
    long interval = observers.stream().mapToLong(each -> each.pollNanos).min().orElseThrow();
    return interval + engine.platform.random(Math.min(interval / 8, MAX_SPREAD_NANOS) + 1);
  }

  private void log(Throwable failure) {
    if (!(failure instanceof LockException)) {
      Engine.log.error("the backend failed to inspect \"{}\"", name, failure);
      return;
    }
    Engine.log.debug("the leader of \"{}\" cannot be observed yet", name, failure);
    if (failure instanceof LockConfigurationException && !refusalIsLogged) {
      refusalIsLogged = true;
      engine.leaseLog.write(
          () ->
              Engine.log.warn(
                  "the leader of \"{}\" cannot be observed; trying again: {}",
                  name,
                  failure.getMessage()));
    }
  }

  /** Ends the watch and all its observers. */
  void end() {
    synchronized (this) {
      phase = Phase.OVER;
      observers.forEach(LeaderObserver::close);
    }
    engine.timer.cancel(this);
    LockBackend.Watch watch = hints.getAndSet(NO_HINTS);
    if (watch != null) {
      close(watch);
    }
  }

  private static void close(LockBackend.Watch watch) {
    Timer.runGuarded("closing a watch", watch::close);
  }
}
