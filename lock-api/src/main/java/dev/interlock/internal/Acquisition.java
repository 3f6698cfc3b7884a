package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The reporting state of one acquisition, or of one name of a set's. Unused without listeners. It
 * changes under its monitor, so that events come in order.
 */
final class Acquisition {

  private final @Nullable Acquisition ofSet;

  @GuardedBy("this")
  private long number;

  @GuardedBy("this")
  private boolean waited;

  /** Whether it was acquired or given up. */
  @GuardedBy("this")
  private boolean ended;

  private volatile @Nullable String heldBy;

  Acquisition(@Nullable Acquisition ofSet) {
    this.ofSet = ofSet;
  }

  /** Returns that of another try. */
  Acquisition again() {
    return new Acquisition(ofSet);
  }

  /** Returns its number, or that of its set; drawn when the first event needs it. */
  synchronized long number(AtomicLong numbers) {
    if (number == 0) {
      number = ofSet == null ? numbers.incrementAndGet() : ofSet.number(numbers);
    }
    return number;
  }

  /** Takes the label of the holder, as last seen. */
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
    boolean begins = !waited && !ended;
    waited = true;
    return begins;
  }

  /** Whether it ends now, and has not before. */
  synchronized boolean end() {
    boolean ends = !ended;
    ended = true;
    return ends;
  }
}
