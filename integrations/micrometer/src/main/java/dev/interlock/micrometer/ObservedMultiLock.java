package dev.interlock.micrometer;

import dev.interlock.LockKind;
import dev.interlock.MultiLease;
import dev.interlock.MultiLock;
import java.util.List;

/** Observes the acquisitions of a set of locks. */
final class ObservedMultiLock extends ObservedAcquirable<MultiLease> implements MultiLock {

  private final MultiLock delegate;

  ObservedMultiLock(MultiLock delegate, LockObserver observer) {
    super(
        delegate,
        LockKind.EXCLUSIVE,
        String.join(", ", delegate.names()),
        observer,
        ObservedMultiLease::new);
    this.delegate = delegate;
  }

  @Override
  public List<String> names() {
    return delegate.names();
  }

  private static final class ObservedMultiLease extends ObservedLease implements MultiLease {

    private final MultiLease delegate;

    ObservedMultiLease(MultiLease delegate, ObservedHold hold) {
      super(delegate, hold);
      this.delegate = delegate;
    }

    @Override
    public List<String> names() {
      return delegate.names();
    }

    @Override
    public long fencingToken(String name) {
      return delegate.fencingToken(name);
    }
  }
}
