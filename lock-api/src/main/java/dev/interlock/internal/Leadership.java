package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import java.time.Duration;

/**
 * The lease that the work of a candidate gets. It is no longer held once the candidate withdraws,
 * so that work that checks {@link #isHeld()} ends; the lock stays taken until the work has ended,
 * so that no other leader begins before.
 */
final class Leadership extends LeaseHandle {

  private volatile boolean withdrawn;

  Leadership(LeaseState state) {
    super(state);
  }

  void withdraw() {
    withdrawn = true;
  }

  /** Whether the lease was lost, and not released. */
  boolean isLost() {
    try {
      super.ensureHeld();
      return false;
    } catch (LeaseLostException e) {
      return true;
    } catch (IllegalStateException e) {
      return false;
    }
  }

  @Override
  public boolean isHeld() {
    return !withdrawn && super.isHeld();
  }

  @Override
  public Duration remainingValidity() {
    return withdrawn ? Duration.ZERO : super.remainingValidity();
  }

  @Override
  public void ensureHeld() {
    super.ensureHeld();
    if (withdrawn) {
      throw new IllegalStateException(
          "the leadership of \"" + name() + "\" is being released: its candidate has withdrawn");
    }
  }

  @Override
  public String toString() {
    return super.toString() + (withdrawn ? " (withdrawn)" : "");
  }
}
