package dev.interlock.bench.peers;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * Which entrants have still to be warmed up: each until it has had a lock so often that its code is
 * compiled, for some time at most, and some rounds at least.
 */
final class WarmUp {

  private static final class Done {
    int rounds;
    double seconds;
    double locks;
  }

  private final Effort effort;
  private final Map<String, Done> series = new HashMap<>();

  WarmUp(Effort effort) {
    this.effort = effort;
  }

  /** Another series begins. */
  void begin() {
    series.clear();
  }

  boolean goesOn(Collection<String> entrants) {
    return !entrants.stream().allMatch(this::isWarm);
  }

  boolean isWarm(String entrant) {
    Done done = series.getOrDefault(entrant, new Done());
    return done.rounds >= effort.warmUps()
        && (done.locks >= effort.warm() || done.seconds >= effort.warmUpLimit().toNanos() / 1e9);
  }

  /** A round has been done that warms. */
  void count(String entrant, Map<Figure, Double> figures, double seconds) {
    Done done = series.computeIfAbsent(entrant, e -> new Done());
    done.rounds++;
    done.seconds += seconds;
    double perSecond =
        figures.getOrDefault(Figure.PAIRS, 0.0) + figures.getOrDefault(Figure.HAND_OVERS, 0.0);
    done.locks += perSecond * seconds;
  }
}
