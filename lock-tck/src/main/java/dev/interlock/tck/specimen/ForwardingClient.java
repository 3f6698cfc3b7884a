package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.LeaderElection;
import dev.interlock.LeaseInfo;
import dev.interlock.LockAdmin;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.MultiLock;
import dev.interlock.Registration;
import dev.interlock.WaiterInfo;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;

/** Forwards every call to another client. */
public abstract class ForwardingClient implements LockClient {
  private final LockClient delegate;

  /**
   * For subclasses.
   *
   * @param delegate the correct client
   */
  protected ForwardingClient(LockClient delegate) {
    this.delegate = delegate;
  }

  /**
   * {@return what {@link #lock(String)} and {@link #lock(String, Consumer)} return; the correct
   * lock by default}
   *
   * @param lock the correct lock
   */
  protected DistributedLock altered(DistributedLock lock) {
    return lock;
  }

  /**
   * {@return what {@link #readWriteLock(String)} and {@link #readWriteLock(String, Consumer)}
   * return; the correct lock by default}
   *
   * @param lock the correct lock
   */
  protected DistributedReadWriteLock altered(DistributedReadWriteLock lock) {
    return lock;
  }

  /**
   * {@return what {@link #semaphore(String, int)} and {@link #semaphore(String, int, Consumer)}
   * return; the correct semaphore by default}
   *
   * @param semaphore the correct semaphore
   */
  protected DistributedSemaphore altered(DistributedSemaphore semaphore) {
    return semaphore;
  }

  /**
   * {@return what {@link #election(String)} and {@link #election(String, Consumer)} return; the
   * correct election by default}
   *
   * @param election the correct election
   */
  protected LeaderElection altered(LeaderElection election) {
    return election;
  }

  @Override
  public LockOptions options() {
    return delegate.options();
  }

  @Override
  public DistributedLock lock(String name, Consumer<? super LockOptions.Builder> change) {
    return altered(delegate.lock(name, change));
  }

  @Override
  public DistributedReadWriteLock readWriteLock(
      String name, Consumer<? super LockOptions.Builder> change) {
    return altered(delegate.readWriteLock(name, change));
  }

  @Override
  public DistributedSemaphore semaphore(
      String name, int limit, Consumer<? super LockOptions.Builder> change) {
    return altered(delegate.semaphore(name, limit, change));
  }

  @Override
  public LeaderElection election(String name, Consumer<? super LockOptions.Builder> change) {
    return altered(delegate.election(name, change));
  }

  @Override
  public MultiLock multiLock(
      Collection<String> names, Consumer<? super LockOptions.Builder> change) {
    return delegate.multiLock(names, change);
  }

  @Override
  public LockAdmin admin() {
    return delegate.admin();
  }

  @Override
  public BackendInfo backend() {
    return delegate.backend();
  }

  @Override
  public String endpoint() {
    return delegate.endpoint();
  }

  @Override
  public List<LeaseInfo> leases() {
    return delegate.leases();
  }

  @Override
  public List<WaiterInfo> waiters() {
    return delegate.waiters();
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return delegate.onEvent(listener);
  }

  @Override
  public void close(Duration drain) {
    delegate.close(drain);
  }
}
