package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Forwards every call to another backend, and renewals one by one. Waiters of a subclass always
 * poll, since only {@link ForwardingQueue} forwards the queue of the other backend.
 */
public abstract class ForwardingBackend implements LockBackend {
  private final LockBackend delegate;

  /**
   * For subclasses.
   *
   * @param delegate the correct backend
   */
  protected ForwardingBackend(LockBackend delegate) {
    this.delegate = delegate;
  }

  @Override
  public BackendInfo info() {
    return delegate.info();
  }

  @Override
  public String endpoint() {
    return delegate.endpoint();
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    return delegate.tryAcquire(claim, deadline);
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return delegate.renew(grant, deadline);
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    return delegate.release(claim, deadline);
  }

  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    return delegate.releaseAfter(claim, delay, deadline);
  }

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    return delegate.watch(name, wakeUp);
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return delegate.inspect(name, deadline);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return delegate.forceRelease(name, deadline);
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return delegate.revoke(name, deadline);
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    return delegate.list(prefix, cursor, limit, deadline);
  }

  @Override
  public boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    return delegate.endSession(claim, refusedFor, refusal);
  }

  @Override
  public void forget(Claim claim) {
    delegate.forget(claim);
  }

  @Override
  public void close() {
    delegate.close();
  }
}
