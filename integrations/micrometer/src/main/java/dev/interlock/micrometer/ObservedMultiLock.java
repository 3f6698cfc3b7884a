package dev.interlock.micrometer;

import dev.interlock.LockKind;
import dev.interlock.MultiLease;
import dev.interlock.MultiLock;
import java.util.List;

/** Observes the acquisitions of a set of locks. */
final class ObservedMultiLock extends ObservedAcquirable<MultiLease> implements MultiLock {

  private final MultiLock right;

  ObservedMultiLock(MultiLock right, LockObserver observer) {
    super(
        right,
        LockKind.EXCLUSIVE,
        String.join(", ", right.names()),
        observer,
        ObservedMultiLease::new);
    this.right = right;
  }

  @Override
  public List<String> names() {
    return right.names();
  }

  /** Observes the hold of a set. */
  private static final class ObservedMultiLease extends ObservedLease implements MultiLease {

    private final MultiLease right;

    ObservedMultiLease(MultiLease right, ObservedHold hold) {
      super(right, hold);
      this.right = right;
    }

    @Override
    public List<String> names() {
      return right.names();
    }

    @Override
    public long fencingToken(String name) {
      return right.fencingToken(name);
    }
  }
}
