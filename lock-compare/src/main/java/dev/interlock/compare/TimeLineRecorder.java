package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Puts down what happens when; the first event begins the line. Thread-safe. */
final class TimeLineRecorder {
  private final long begin;
  private final List<Results.TimeLine.Event> events = new ArrayList<>();

  TimeLineRecorder(long begin) {
    this.begin = begin;
  }

  synchronized void at(long nanoTime, String what) {
    events.add(new Results.TimeLine.Event(Duration.ofNanos(Math.max(0, nanoTime - begin)), what));
  }

  synchronized List<Results.TimeLine.Event> events() {
    List<Results.TimeLine.Event> sorted = new ArrayList<>(events);
    sorted.sort(Comparator.comparingDouble(Results.TimeLine.Event::seconds));
    return sorted;
  }
}
