package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The reporting state of one acquisition, or of one name of a set's. Unused without listeners. It
 * changes under its monitor, so that events come in order.
 */
final class Acquisition {

  private enum Stage {
    BEGUN,
    WAITING,
    /** Acquired or given up. */
    OVER
  }

  private final @Nullable Acquisition ofSet;

  @GuardedBy("this")
  private long number;

  @GuardedBy("this")
  private Stage stage = Stage.BEGUN;

  private volatile @Nullable String heldBy;

  Acquisition(@Nullable Acquisition ofSet) {
    this.ofSet = ofSet;
  }

  /** Drawn when the first event needs it. */
  long number(AtomicLong numbers) {
    if (ofSet != null) {
      return ofSet.number(numbers);
    }
    synchronized (this) {
      if (number == 0) {
        number = numbers.incrementAndGet();
      }
      return number;
    }
  }

  /** The label of the holder, as last seen. */
  void heldBy(@Nullable String holder) {
    if (holder != null) {
      heldBy = holder;
      if (ofSet != null) {
        ofSet.heldBy = holder;
      }
    }
  }

  @Nullable String heldBy() {
    return heldBy;
  }

  /** Whether it waits from now on, and has neither waited nor ended before. */
  synchronized boolean beginToWait() {
    boolean first = stage == Stage.BEGUN;
    if (first) {
      stage = Stage.WAITING;
    }
    return first;
  }

  /** Whether it ends now, and has not before. */
  synchronized boolean end() {
    boolean first = stage != Stage.OVER;
    stage = Stage.OVER;
    return first;
  }
}
