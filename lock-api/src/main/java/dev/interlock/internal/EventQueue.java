package dev.interlock.internal;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The events of a {@link Timer}, ordered by time. A binary heap in which every event knows its
 * index, so that it can be removed. Guarded by the timer.
 */
final class EventQueue {

  /** The children of i are 2 i + 1 and 2 i + 2. */
  private final List<Timer.Event> heap = new ArrayList<>();

  int size() {
    return heap.size();
  }

  /** Returns the next event; null if there is none. */
  Timer.@Nullable Event first() {
    return heap.isEmpty() ? null : heap.get(0);
  }

  /** Adds an event that is not in the queue. */
  void add(Timer.Event event, long at) {
    heap.add(event);
    event.at = at;
    siftUp(event, heap.size() - 1);
  }

  /** Removes the event, if it is in the queue. Adding it again allocates no memory. */
  void remove(Timer.Event event) {
    int hole = event.heapIndex;
    if (hole < 0) {
      return;
    }
    event.heapIndex = -1;
    Timer.Event last = heap.remove(heap.size() - 1);
    if (last != event) {
      siftDown(last, hole);
      siftUp(last, last.heapIndex);
    }
  }

  /** Removes all events without allocating memory. */
  void clear() {
    while (!heap.isEmpty()) {
      remove(heap.get(heap.size() - 1));
    }
  }

  /** Puts the event into the hole, or above it. */
  private void siftUp(Timer.Event event, int hole) {
    int index = hole;
    while (index > 0 && event.isBefore(heap.get((index - 1) / 2))) {
      int parent = (index - 1) / 2;
      put(heap.get(parent), index);
      index = parent;
    }
    put(event, index);
  }

  /** Puts the event into the hole, or below it. */
  private void siftDown(Timer.Event event, int hole) {
    int index = hole;
    while (2 * index + 1 < heap.size()) {
      int child = 2 * index + 1;
      if (child + 1 < heap.size() && heap.get(child + 1).isBefore(heap.get(child))) {
        child++;
      }
      if (event.isBefore(heap.get(child))) {
        break;
      }
      put(heap.get(child), index);
      index = child;
    }
    put(event, index);
  }

  private void put(Timer.Event event, int index) {
    heap.set(index, event);
    event.heapIndex = index;
  }
}
