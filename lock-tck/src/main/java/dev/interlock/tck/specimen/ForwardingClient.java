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
  private final LockClient right;

  /**
   * For subclasses.
   *
   * @param right the right client
   */
  protected ForwardingClient(LockClient right) {
    this.right = right;
  }

  /**
   * {@return what {@link #lock(String)} and {@link #lock(String, Consumer)} return; the right lock
   * by default}
   *
   * @param lock the right lock
   */
  protected DistributedLock altered(DistributedLock lock) {
    return lock;
  }

  /**
   * {@return what {@link #readWriteLock(String)} and {@link #readWriteLock(String, Consumer)}
   * return; the right lock by default}
   *
   * @param lock the right lock
   */
  protected DistributedReadWriteLock altered(DistributedReadWriteLock lock) {
    return lock;
  }

  /**
   * {@return what {@link #semaphore(String, int)} and {@link #semaphore(String, int, Consumer)}
   * return; the right semaphore by default}
   *
   * @param semaphore the right semaphore
   */
  protected DistributedSemaphore altered(DistributedSemaphore semaphore) {
    return semaphore;
  }

  /**
   * {@return what {@link #election(String)} and {@link #election(String, Consumer)} return; the
   * right election by default}
   *
   * @param election the right election
   */
  protected LeaderElection altered(LeaderElection election) {
    return election;
  }

  @Override
  public LockOptions options() {
    return right.options();
  }

  @Override
  public DistributedLock lock(String name, Consumer<? super LockOptions.Builder> change) {
    return altered(right.lock(name, change));
  }

  @Override
  public DistributedReadWriteLock readWriteLock(
      String name, Consumer<? super LockOptions.Builder> change) {
    return altered(right.readWriteLock(name, change));
  }

  @Override
  public DistributedSemaphore semaphore(
      String name, int limit, Consumer<? super LockOptions.Builder> change) {
    return altered(right.semaphore(name, limit, change));
  }

  @Override
  public LeaderElection election(String name, Consumer<? super LockOptions.Builder> change) {
    return altered(right.election(name, change));
  }

  @Override
  public MultiLock multiLock(
      Collection<String> names, Consumer<? super LockOptions.Builder> change) {
    return right.multiLock(names, change);
  }

  @Override
  public LockAdmin admin() {
    return right.admin();
  }

  @Override
  public BackendInfo backend() {
    return right.backend();
  }

  @Override
  public String endpoint() {
    return right.endpoint();
  }

  @Override
  public List<LeaseInfo> leases() {
    return right.leases();
  }

  @Override
  public List<WaiterInfo> waiters() {
    return right.waiters();
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return right.onEvent(listener);
  }

  @Override
  public void close(Duration drain) {
    right.close(drain);
  }
}
