package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The record of which events were reported for one acquisition, or for one member of a set. Unused
 * without listeners. It changes under its monitor, so that events stay in order.
 */
final class Acquisition {

  private final @Nullable Acquisition set;

  @GuardedBy("this")
  private long number;

  @GuardedBy("this")
  private boolean waited;

  /** Whether the end of the acquisition has been reported. */
  @GuardedBy("this")
  private boolean ended;

  private volatile @Nullable String heldBy;

  Acquisition(@Nullable Acquisition set) {
    this.set = set;
  }

  /** Returns a new acquisition of the same set, if any. */
  Acquisition forRetry() {
    return new Acquisition(set);
  }

  /** Returns the acquisition's number, or its set's; assigned when the first event needs it. */
  synchronized long number(AtomicLong numbers) {
    if (number == 0) {
      number = set == null ? numbers.incrementAndGet() : set.number(numbers);
    }
    return number;
  }

  void setHeldBy(@Nullable String holder) {
    if (holder != null) {
      heldBy = holder;
      if (set != null) {
        set.heldBy = holder;
      }
    }
  }

  @Nullable String heldBy() {
    return heldBy;
  }

  /** Marks the acquisition as waiting; false if it waited or ended before. */
  synchronized boolean beginToWait() {
    boolean first = !waited && !ended;
    waited = true;
    return first;
  }

  /** Marks the acquisition as ended; false if it ended before. */
  synchronized boolean end() {
    boolean first = !ended;
    ended = true;
    return first;
  }
}
