package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Election.Leader;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Asks the store who leads, for all observers of one name: every poll interval, and soon after the
 * store has hinted at a change. Between two requests it occupies no thread.
 *
 * <p>Requests are numbered, because an observer must not see a leader that resigned before it began
 * to observe: it gets only the answers to later requests.
 */
final class LeaderWatch extends Timer.Event {

  /** The shortest time between two requests, however often the store hints. */
  static final long LEAST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long MOST_SPREAD = TimeUnit.MILLISECONDS.toNanos(50);

  private final Engine engine;
  private final String name;
  private final WakeUp hint;
  private final Backoff backoff;

  @GuardedBy("this")
  private final List<LeaderObserver> observers = new ArrayList<>();

  /** The number of the last request, and when it was made. */
  @GuardedBy("this")
  private long request;

  @GuardedBy("this")
  private long requestedAt;

  @GuardedBy("this")
  private boolean inFlight;

  /** Whether the last request has a thread; it may have to wait for one. */
  @GuardedBy("this")
  private boolean hasThread = true;

  /** Whether another request is to follow the one in flight. */
  @GuardedBy("this")
  private boolean again;

  @GuardedBy("this")
  private LockBackend.@Nullable Watch hints;

  @GuardedBy("this")
  private boolean over;

  private volatile boolean refusalIsLogged;

  LeaderWatch(Engine engine, String name) {
    this.engine = engine;
    this.name = name;
    this.hint = new WakeUp(engine.platform, this::ask);
    this.backoff = new Backoff(engine.platform, engine.options.ttl());
  }

  synchronized void add(LeaderObserver observer) {
    observer.begin(request);
    observers.add(observer);
  }

  /** Returns whether this watch is over: no observer is left, or its client has been closed. */
  synchronized boolean remove(LeaderObserver observer) {
    observers.remove(observer);
    over |= observers.isEmpty();
    return over;
  }

  /** Asks as soon as possible. Neither blocks nor throws. */
  void ask() {
    long now = engine.platform.nanoTime();
    synchronized (this) {
      again = true;
      if (inFlight || over) {
        return;
      }
      due(soonest(now));
    }
    engine.timer.update(this);
  }

  @GuardedBy("this")
  private long soonest(long now) {
    long next = requestedAt + LEAST_PAUSE;
    return request == 0 || next - now < 0 ? now : next;
  }

  @Override
  void fire(long now) {
    long number;
    synchronized (this) {
      if (over) {
        return;
      }
      inFlight = true;
      again = false;
      if (hasThread) {
        request++;
        hasThread = false;
      }
      number = request;
      requestedAt = now;
      dueAgain(now);
    }
    engine.timer.update(this);
    try {
      engine.threads.observers.execute(() -> request(number));
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

  private void request(long number) {
    synchronized (this) {
      if (number != request || hasThread || over) {
        return;
      }
      hasThread = true;
      dueAgain(engine.platform.nanoTime());
    }
    engine.timer.update(this);
    boolean failed = true;
    try {
      watchStore();
      hint.take();
      Optional<Leader> leader = SeenLeader.in(engine.inspect(name));
      failed = false;
      answered(number, leader);
      backoff.reset();
      refusalIsLogged = false;
    } catch (Throwable e) {
      Timer.survive("a log", () -> log(e));
    } finally {
      requestEnded(number, failed ? backoff.nextNanos() : 0);
    }
  }

  /** Before the first request, so that no change is missed after it. */
  private void watchStore() {
    synchronized (this) {
      if (over || hints != null || engine.store instanceof QueueingBackend) {
        return;
      }
    }
    LockBackend.Watch made;
    try {
      made = engine.store.watch(name, hint);
    } catch (LockUnavailableException e) {
      Engine.log.debug("\"{}\" cannot be watched", name, e);
      return;
    }
    synchronized (this) {
      if (!over && hints == null) {
        hints = made;
        return;
      }
    }
    close(made);
  }

  private void answered(long number, Optional<Leader> leader) {
    synchronized (this) {
      // After the machine has slept, two requests may be in flight, and the store may see them in
      // either order. Only the later one counts, so that no observer sees an earlier state again.
      if (over || number != request) {
        return;
      }
      for (LeaderObserver observer : observers) {
        observer.see(number, leader);
      }
    }
    engine.notifier.flush();
  }

  private void requestEnded(long number, long leastPause) {
    long now = engine.platform.nanoTime();
    synchronized (this) {
      if (number != request || over) {
        return;
      }
      inFlight = false;
      due(again && leastPause == 0 ? soonest(now) : now + Math.max(leastPause, untilNextPoll()));
    }
    engine.timer.update(this);
  }

  // A little later, at random, so that the observers of a leader do not ask in step.
  @GuardedBy("this")
  private long untilNextPoll() {
    long interval = Long.MAX_VALUE;
    for (LeaderObserver observer : observers) {
      interval = Math.min(interval, observer.pollNanos());
    }
    return interval + engine.platform.random(Math.min(interval / 8, MOST_SPREAD) + 1);
  }

  private void log(Throwable failure) {
    if (failure instanceof LockConfigurationException && !refusalIsLogged) {
      refusalIsLogged = true;
      engine.leaseLog.write(
          () ->
              Engine.log.warn(
                  "the leader of \"{}\" cannot be observed; trying again: {}",
                  name,
                  failure.getMessage()));
    } else if (failure instanceof LockUnavailableException
        || failure instanceof LockConfigurationException) {
      Engine.log.debug("the leader of \"{}\" cannot be observed yet", name, failure);
    } else {
      Engine.log.error("the backend failed to inspect \"{}\"", name, failure);
    }
  }

  /** Ends the watch, and all its observers. */
  void end() {
    LockBackend.Watch made;
    synchronized (this) {
      over = true;
      observers.forEach(LeaderObserver::close);
      made = hints;
      hints = null;
    }
    engine.timer.cancel(this);
    if (made != null) {
      close(made);
    }
  }

  private static void close(LockBackend.Watch watch) {
    Timer.survive("the end of a watch", watch::close);
  }
}
