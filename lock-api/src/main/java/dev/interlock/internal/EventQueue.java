package dev.interlock.internal;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The events of a {@link Timer}, by time; those of the same time in any order. A binary heap in
 * which every event knows its place, so that it can be removed. Guarded by the timer.
 */
final class EventQueue {

  private static final int LEAST = 16;

  /** From 1 on; the children of i are 2 i and 2 i + 1. Never shrinks. */
  private @Nullable Timer.Event[] heap = new Timer.Event[LEAST];

  private int size;

  int size() {
    return size;
  }

  /** The next one; null if there is none. */
  Timer.@Nullable Event first() {
    return heap[1];
  }

  /** Adds an event that is not in the queue. */
  void add(Timer.Event event, long at) {
    if (size + 1 == heap.length) {
      heap = Arrays.copyOf(heap, 2 * heap.length);
    }
    event.at = at;
    size++;
    rise(event, size);
  }

  /** Removes the event, if it is in the queue. Leaves room to add it again without memory. */
  void remove(Timer.Event event) {
    int hole = event.place;
    if (hole == 0) {
      return;
    }
    event.place = 0;
    Timer.Event last = at(size);
    heap[size] = null;
    size--;
    if (last != event) {
      sink(last, hole);
      rise(last, last.place);
    }
  }

  /** Needs no memory. */
  void clear() {
    for (int i = 1; i <= size; i++) {
      at(i).place = 0;
      heap[i] = null;
    }
    size = 0;
  }

  /** Puts the event into the hole, or further up. */
  private void rise(Timer.Event event, int hole) {
    int place = hole;
    while (place > 1 && event.isBefore(at(place / 2))) {
      put(at(place / 2), place);
      place /= 2;
    }
    put(event, place);
  }

  /** Puts the event into the hole, or further down. */
  private void sink(Timer.Event event, int hole) {
    int place = hole;
    while (2 * place <= size) {
      int child = 2 * place;
      if (child < size && at(child + 1).isBefore(at(child))) {
        child++;
      }
      if (event.isBefore(at(child))) {
        break;
      }
      put(at(child), place);
      place = child;
    }
    put(event, place);
  }

  private void put(Timer.Event event, int place) {
    heap[place] = event;
    event.place = place;
  }

  private Timer.Event at(int place) {
    Timer.Event event = heap[place];
    if (event == null) {
      throw new IllegalStateException("no event at place " + place + " of " + size);
    }
    return event;
  }
}
