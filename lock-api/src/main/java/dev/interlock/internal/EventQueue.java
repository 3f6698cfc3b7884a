package dev.interlock.internal;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The events of a {@link Timer}, by time; those of the same time in any order. A binary heap in
 * which every event knows its place, so that it can be removed. Guarded by the timer.
 */
final class EventQueue {

  /** The children of i are 2 i + 1 and 2 i + 2. */
  private final List<Timer.Event> heap = new ArrayList<>();

  int size() {
    return heap.size();
  }

  /** Returns the next one; null if there is none. */
  Timer.@Nullable Event first() {
    return heap.isEmpty() ? null : heap.get(0);
  }

  /** Adds an event that is not in the queue. */
  void add(Timer.Event event, long at) {
    heap.add(event);
    event.at = at;
    rise(event, heap.size() - 1);
  }

  /** Removes the event, if it is in the queue. Leaves room to add it again without memory. */
  void remove(Timer.Event event) {
    int hole = event.place;
    if (hole < 0) {
      return;
    }
    event.place = -1;
    Timer.Event last = heap.remove(heap.size() - 1);
    if (last != event) {
      sink(last, hole);
      rise(last, last.place);
    }
  }

  /** Needs no memory. */
  void clear() {
    while (!heap.isEmpty()) {
      remove(heap.get(heap.size() - 1));
    }
  }

  /** Puts the event into the hole, or further up. */
  private void rise(Timer.Event event, int hole) {
    int place = hole;
    while (place > 0 && event.isBefore(heap.get((place - 1) / 2))) {
      int parent = (place - 1) / 2;
      put(heap.get(parent), place);
      place = parent;
    }
    put(event, place);
  }

  /** Puts the event into the hole, or further down. */
  private void sink(Timer.Event event, int hole) {
    int place = hole;
    while (2 * place + 1 < heap.size()) {
      int child = 2 * place + 1;
      if (child + 1 < heap.size() && heap.get(child + 1).isBefore(heap.get(child))) {
        child++;
      }
      if (event.isBefore(heap.get(child))) {
        break;
      }
      put(heap.get(child), place);
      place = child;
    }
    put(event, place);
  }

  private void put(Timer.Event event, int place) {
    heap.set(place, event);
    event.place = place;
  }
}
