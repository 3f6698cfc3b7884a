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
 * Asks the store who leads, for all observers of one name: every poll interval, and soon after the
 * store has hinted at a change. Between two requests it occupies no thread.
 *
 * <p>An observer must not see a leader that resigned before it began to observe: it gets only the
 * answers to requests that began later.
 */
final class LeaderWatch extends Timer.Event {

  /** The shortest time between two requests, however often the store hints. */
  static final long LEAST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long MOST_SPREAD = TimeUnit.MILLISECONDS.toNanos(50);
  private static final LockBackend.Watch NO_HINTS = () -> {};

  private enum Phase {
    /** The timer begins the next request. */
    IDLE,
    /** The next request may have to wait for a thread. */
    QUEUED,
    /** A request is in flight. */
    ASKING,
    /** No observer is left, or the client has been closed. */
    OVER
  }

  private final Engine engine;
  private final String name;
  private final Backoff backoff;

  /** Signalled by the store, and for a new observer; taken by the next request. */
  private final WakeUp hint;

  /** The store's watch; null until it is made, and {@link #NO_HINTS} if none is to be made. */
  private final AtomicReference<LockBackend.@Nullable Watch> hints;

  @GuardedBy("this")
  private final List<LeaderObserver> observers = new ArrayList<>();

  @GuardedBy("this")
  private Phase phase = Phase.IDLE;

  /** The number of the last request that has begun. */
  @GuardedBy("this")
  private long request;

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

  /** Returns whether this watch is over. */
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
      due(soonest(now));
    }
    engine.timer.update(this);
  }

  @GuardedBy("this")
  private long soonest(long now) {
    return now - mayAskAt < 0 ? mayAskAt : now;
  }

  @Override
  void fire(long now) {
    synchronized (this) {
      if (phase == Phase.OVER) {
        return;
      }
      phase = Phase.QUEUED;
      dueAgain(now);
    }
    engine.timer.update(this);
    try {
      engine.threads.observers.execute(this::request);
    } catch (RejectedExecutionException e) {
      // The client was closed, and this watch with it.
      return;
    }
  }

  /** In case the end of the request is never noted. */
  @GuardedBy("this")
  private void dueAgain(long now) {
    due(now + 3 * engine.requestTimeout().toNanos());
  }

  private void request() {
    long now = engine.platform.nanoTime();
    List<LeaderObserver> askers;
    long number;
    synchronized (this) {
      if (phase != Phase.QUEUED) {
        return;
      }
      askers = List.copyOf(observers);
      number = ++request;
      phase = Phase.ASKING;
      mayAskAt = now + LEAST_PAUSE;
      dueAgain(now);
      hint.take();
    }
    engine.timer.update(this);
    long leastPause = 0;
    try {
      watchStore();
      answered(number, SeenLeader.in(engine.inspect(name)), askers);
      backoff.reset();
      refusalIsLogged = false;
    } catch (Throwable e) {
      leastPause = backoff.nextNanos();
      Timer.survive("logging", () -> log(e));
    } finally {
      requestEnded(number, leastPause);
    }
  }

  /** Before the first request, so that no change is missed after it. */
  private void watchStore() {
    if (hints.get() != null) {
      return;
    }
    try {
      LockBackend.Watch made = engine.store.watch(name, hint);
      if (!hints.compareAndSet(null, made)) {
        close(made);
      }
    } catch (LockUnavailableException e) {
      Engine.log.debug("the backend cannot watch \"{}\" now; polling", name, e);
    }
  }

  private void answered(long number, Optional<Leader> leader, List<LeaderObserver> askers) {
    synchronized (this) {
      // After the machine has slept, two requests may be in flight, and the store may see them in
      // either order. Only the later one counts, so that no observer sees an earlier state again.
      if (number != request) {
        return;
      }
      askers.forEach(observer -> observer.see(leader));
    }
    engine.notifier.flush();
  }

  private void requestEnded(long number, long leastPause) {
    long now = engine.platform.nanoTime();
    synchronized (this) {
      if (number != request || phase != Phase.ASKING) {
        return;
      }
      phase = Phase.IDLE;
      boolean again = hint.take() && leastPause == 0;
      due(again ? soonest(now) : now + Math.max(leastPause, untilNextPoll()));
    }
    engine.timer.update(this);
  }

  // A little later, at random, so that the observers of a leader do not ask in step.
  @GuardedBy("this")
  private long untilNextPoll() {
    long interval = observers.stream().mapToLong(each -> each.pollNanos).min().orElseThrow();
    return interval + engine.platform.random(Math.min(interval / 8, MOST_SPREAD) + 1);
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

  /** Ends the watch, and all its observers. */
  void end() {
    synchronized (this) {
      phase = Phase.OVER;
      observers.forEach(LeaderObserver::close);
    }
    engine.timer.cancel(this);
    LockBackend.Watch made = hints.getAndSet(NO_HINTS);
    if (made != null) {
      close(made);
    }
  }

  private static void close(LockBackend.Watch watch) {
    Timer.survive("closing a watch", watch::close);
  }
}
