package dev.interlock.internal;

import dev.interlock.LeaderElection.Leader;
import dev.interlock.Registration;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;

/**
 * The watches of the elections that a client observes. A name has a watch while it has an observer.
 */
final class LeaderWatches {

  private final Engine engine;
  private final ConcurrentMap<String, LeaderWatch> watches = new ConcurrentHashMap<>();

  LeaderWatches(Engine engine) {
    this.engine = engine;
  }

  int size() {
    return watches.size();
  }

  Registration observe(
      String name, Duration pollInterval, Consumer<? super Optional<Leader>> listener) {
    StackRoom.require();
    // First, because no request is sent without the timer.
    engine.timer.start();
    LeaderObserver observer = new LeaderObserver(engine.notifier, pollInterval.toNanos(), listener);
    LeaderWatch watch =
        watches.compute(
            name,
            (key, current) -> {
              LeaderWatch shared = current == null ? new LeaderWatch(engine, name) : current;
              shared.add(observer);
              return shared;
            });
    try {
      // After the observer was added: from here on, closing the client ends it.
      engine.ensureOpen();
      watch.ask();
      return () -> remove(name, watch, observer);
    } catch (Throwable e) {
      remove(name, watch, observer);
      throw e;
    }
  }

  private void remove(String name, LeaderWatch watch, LeaderObserver observer) {
    observer.close();
    // A later watch of the same name does not know this observer.
    LeaderWatch remaining =
        watches.computeIfPresent(
            name, (key, current) -> current == watch && watch.remove(observer) ? null : current);
    if (remaining == null) {
      watch.end();
    }
  }

  void close() {
    watches.values().forEach(LeaderWatch::end);
    watches.clear();
  }
}
