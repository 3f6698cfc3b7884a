package dev.interlock.micrometer;

import static java.util.Objects.requireNonNull;

import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.MultiLock;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import java.util.Collection;
import java.util.function.Consumer;

/**
 * The locks of a client, with an observation of each acquisition and each hold. If the registry is
 * connected to a tracer, the observations are spans.
 *
 * <pre>{@code
 * ObservedLocks locks = new ObservedLocks(client, observationRegistry);
 * try (Lease lease = locks.lock("orders/42").acquire()) {
 *   lease.callWhileHeld(() -> ship(42));
 * }
 * }</pre>
 *
 * <p>Both observations are children of the observation that is current when the lock is acquired.
 * {@link Lease#callWhileHeld} makes the hold the current observation, so observations of its work
 * are children of the hold. {@link LockObservation} has the names and keys. A loss is an error of
 * the hold, and so is an exception of the work.
 *
 * <p>The locks and leases behave like the client's own. {@link DistributedLock#asLock()} and
 * elections are not observed. Thread-safe.
 */
public final class ObservedLocks {

  private final LockClient client;
  private final LockObserver observer;

  /**
   * Creates observed locks of a client, with the default names and keys.
   *
   * @param client the client
   * @param registry the registry of the observations
   */
  public ObservedLocks(LockClient client, ObservationRegistry registry) {
    this(
        client,
        registry,
        new LockObservationConvention(LockObservation.ACQUIRE),
        new LockObservationConvention(LockObservation.HOLD));
  }

  /**
   * Creates observed locks of a client, with other names or keys.
   *
   * @param client the client
   * @param registry the registry of the observations
   * @param acquire the convention of acquisitions
   * @param hold the convention of holds
   */
  public ObservedLocks(
      LockClient client,
      ObservationRegistry registry,
      ObservationConvention<LockContext> acquire,
      ObservationConvention<LockContext> hold) {
    this.client = requireNonNull(client, "client");
    this.observer =
        new LockObserver(
            client.backend(),
            requireNonNull(registry, "registry"),
            requireNonNull(acquire, "acquire"),
            requireNonNull(hold, "hold"));
  }

  /**
   * {@return the lock, observed} Throws as {@link LockClient#lock(String)} does.
   *
   * @param name the lock's name
   */
  public DistributedLock lock(String name) {
    return lock(name, options -> {});
  }

  /**
   * {@return the lock, observed} Throws as {@link LockClient#lock(String, Consumer)} does.
   *
   * @param name the lock's name
   * @param change changes the client's options
   */
  public DistributedLock lock(String name, Consumer<? super LockOptions.Builder> change) {
    return new ObservedLock(client.lock(name, change), LockKind.EXCLUSIVE, observer);
  }

  /**
   * {@return the locks as one, observed as one} Throws as {@link LockClient#multiLock(Collection)}
   * does.
   *
   * @param names their names
   */
  public MultiLock multiLock(Collection<String> names) {
    return multiLock(names, options -> {});
  }

  /**
   * {@return the locks as one, observed as one} Throws as {@link LockClient#multiLock(Collection,
   * Consumer)} does.
   *
   * @param names their names
   * @param change changes the client's options
   */
  public MultiLock multiLock(
      Collection<String> names, Consumer<? super LockOptions.Builder> change) {
    return new ObservedMultiLock(client.multiLock(names, change), observer);
  }

  /**
   * {@return the read-write lock, observed} Throws as {@link LockClient#readWriteLock(String)}
   * does.
   *
   * @param name the lock's name
   */
  public DistributedReadWriteLock readWriteLock(String name) {
    return readWriteLock(name, options -> {});
  }

  /**
   * {@return the read-write lock, observed} Throws as {@link LockClient#readWriteLock(String,
   * Consumer)} does.
   *
   * @param name the lock's name
   * @param change changes the client's options
   */
  public DistributedReadWriteLock readWriteLock(
      String name, Consumer<? super LockOptions.Builder> change) {
    return new ObservedReadWriteLock(client.readWriteLock(name, change), observer);
  }

  /**
   * {@return the semaphore, observed} Throws as {@link LockClient#semaphore(String, int)} does.
   *
   * @param name the semaphore's name
   * @param limit the number of permits
   */
  public DistributedSemaphore semaphore(String name, int limit) {
    return semaphore(name, limit, options -> {});
  }

  /**
   * {@return the semaphore, observed} Throws as {@link LockClient#semaphore(String, int, Consumer)}
   * does.
   *
   * @param name the semaphore's name
   * @param limit the number of permits
   * @param change changes the client's options
   */
  public DistributedSemaphore semaphore(
      String name, int limit, Consumer<? super LockOptions.Builder> change) {
    return new ObservedSemaphore(client.semaphore(name, limit, change), observer);
  }

  private record ObservedReadWriteLock(DistributedReadWriteLock lock, LockObserver observer)
      implements DistributedReadWriteLock {
    @Override
    public String name() {
      return lock.name();
    }

    @Override
    public DistributedLock readLock() {
      return new ObservedLock(lock.readLock(), LockKind.READ_WRITE, observer);
    }

    @Override
    public DistributedLock writeLock() {
      return new ObservedLock(lock.writeLock(), LockKind.READ_WRITE, observer);
    }
  }
}
