package dev.interlock;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.internal.ClientFactory;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;

/**
 * A client of a store that keeps locks. Open it once, share it between all threads, and close it at
 * the end.
 *
 * <pre>{@code
 * try (LockClient client = LockClient.open("redis://localhost:6379")) {
 *   try (Lease lease = client.lock("orders/42").acquire()) {
 *     Order order = store.claimAndRead(42, lease.fencingToken());
 *     store.write(order.shipped(), lease.fencingToken());
 *   }
 * }
 * }</pre>
 *
 * <p>The scheme of the URI selects one of the backends that {@link java.util.ServiceLoader} finds.
 * Two clients are two contenders, even in one process: each waits for the locks that the other
 * holds.
 *
 * <p>A client that neither holds nor waits keeps no state for any name and uses no CPU. All threads
 * that it starts are daemons.
 */
public interface LockClient extends AutoCloseable {

  /**
   * Opens a client with {@linkplain LockOptions#defaults() default options}; see {@link
   * #open(String, LockOptions)}.
   *
   * @param uri the URI of the store, such as {@code redis://localhost:6379} or {@code memory:demo}
   * @return a new client
   * @throws LockConfigurationException if the URI cannot work; the message says how to correct it
   * @throws LockUnavailableException if the store does not answer
   */
  static LockClient open(String uri) {
    return open(uri, LockOptions.defaults());
  }

  /**
   * Opens a client of the store at the URI. Blocks while it connects, for at most the connect and
   * request time-outs. If {@link LockOptions#openTimeout()} is set, it retries for that long.
   *
   * <p>Besides the backend's own parameters, every URI takes {@linkplain
   * dev.interlock.spi.ClientParameters parameters} that replace values of the given options, such
   * as {@code ttl=10s}. To keep a password out of the URI, use {@code passwordFile=PATH} or {@code
   * passwordEnv=NAME}.
   *
   * @param uri the URI of the store
   * @param options the options of every lock of the client; a lock may change some of them
   * @return a new client
   * @throws LockConfigurationException if the URI cannot work; the message says how to correct it
   * @throws LockUnavailableException if the store does not answer
   */
  static LockClient open(String uri, LockOptions options) {
    return ClientFactory.open(uri, options, TimeSource.system());
  }

  /**
   * Opens a client of a backend that the caller creates: one without a provider, or one that uses
   * the program's own driver client.
   *
   * @param factory creates the backend
   * @param options the options of every lock of the client; a lock may change some of them
   * @return a new client
   * @throws LockConfigurationException if the backend refuses its settings
   * @throws LockUnavailableException if the store does not answer
   */
  static LockClient using(BackendFactory factory, LockOptions options) {
    return ClientFactory.using(factory, options, TimeSource.system());
  }

  /** {@return the options of every lock of this client} They include those that the URI sets. */
  LockOptions options();

  /**
   * Returns the lock of the given name, with the {@linkplain #options() client's options}. Does not
   * contact the store.
   *
   * @param name 1 to 255 Unicode characters (code points), any; compared exactly
   * @return the lock
   * @throws IllegalArgumentException if the name is empty, too long, or not well-formed Unicode
   * @throws IllegalStateException if the client is closed
   */
  default DistributedLock lock(String name) {
    return lock(name, unchanged -> {});
  }

  /**
   * Returns the lock of the given name, with some options changed. All others are the {@linkplain
   * #options() client's}. Does not contact the store.
   *
   * <pre>{@code
   * DistributedLock nightly = client.lock("jobs/nightly", options -> options.maxHold(ONE_HOUR));
   * }</pre>
   *
   * @param name 1 to 255 Unicode characters (code points), any; compared exactly
   * @param change called once, on the calling thread, with a builder that has the client's options
   * @return the lock
   * @throws IllegalArgumentException if the name is empty, too long, or not well-formed Unicode; or
   *     if the change affects {@link LockOptions#requestTimeout()} or {@link
   *     LockOptions#openTimeout()}, which a lock cannot change
   * @throws IllegalStateException if the client is closed
   */
  DistributedLock lock(String name, Consumer<? super LockOptions.Builder> change);

  /**
   * Returns a lock over several names, acquired all or nothing, with the {@linkplain #options()
   * client's options}. Does not contact the store.
   *
   * @param names at least one name; duplicates count once
   * @return the locks as one
   * @throws IllegalArgumentException if there is no name, or one that {@link #lock(String)} refuses
   * @throws IllegalStateException if the client is closed
   */
  default MultiLock multiLock(Collection<String> names) {
    return multiLock(names, unchanged -> {});
  }

  /**
   * Returns a lock over several names, acquired all or nothing, with some options changed. Does not
   * contact the store.
   *
   * @param names at least one name; duplicates count once
   * @param change changes the client's options, as in {@link #lock(String, Consumer)}
   * @return the locks as one
   * @throws IllegalArgumentException if there is no name, or one that {@link #lock(String)}
   *     refuses; or if the change is one that {@link #lock(String, Consumer)} refuses
   * @throws IllegalStateException if the client is closed
   */
  MultiLock multiLock(Collection<String> names, Consumer<? super LockOptions.Builder> change);

  /**
   * Returns the read-write lock of the given name, with the {@linkplain #options() client's
   * options}. Does not contact the store.
   *
   * @param name as for {@link #lock(String)}; a name is of one {@linkplain LockKind kind} at a time
   * @return the lock
   * @throws IllegalArgumentException if {@link #lock(String)} refuses the name
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#READ_WRITE}
   * @throws IllegalStateException if the client is closed
   */
  default DistributedReadWriteLock readWriteLock(String name) {
    return readWriteLock(name, unchanged -> {});
  }

  /**
   * Returns the read-write lock of the given name, with some options changed. Does not contact the
   * store.
   *
   * @param name as for {@link #lock(String)}
   * @param change changes the client's options, as in {@link #lock(String, Consumer)}
   * @return the lock
   * @throws IllegalArgumentException if {@link #lock(String, Consumer)} refuses the name or change
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#READ_WRITE}
   * @throws IllegalStateException if the client is closed
   */
  DistributedReadWriteLock readWriteLock(String name, Consumer<? super LockOptions.Builder> change);

  /**
   * Returns the semaphore of the given name, with the {@linkplain #options() client's options}.
   * Does not contact the store.
   *
   * @param name as for {@link #lock(String)}; a name is of one {@linkplain LockKind kind} at a time
   * @param limit the number of permits, from 1 to {@link Integer#MAX_VALUE}; the same for all
   *     clients
   * @return the semaphore
   * @throws IllegalArgumentException if the limit is not positive, or {@link #lock(String)} refuses
   *     the name
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#SEMAPHORE}
   * @throws IllegalStateException if the client is closed
   */
  default DistributedSemaphore semaphore(String name, int limit) {
    return semaphore(name, limit, unchanged -> {});
  }

  /**
   * Returns the semaphore of the given name, with some options changed. Does not contact the store.
   *
   * @param name as for {@link #lock(String)}
   * @param limit the number of permits, as above
   * @param change changes the client's options, as in {@link #lock(String, Consumer)}
   * @return the semaphore
   * @throws IllegalArgumentException if the limit is not positive, or {@link #lock(String,
   *     Consumer)} refuses the name or change
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#SEMAPHORE}
   * @throws IllegalStateException if the client is closed
   */
  DistributedSemaphore semaphore(
      String name, int limit, Consumer<? super LockOptions.Builder> change);

  /**
   * Returns the election of the given name, with the {@linkplain #options() client's options}. Does
   * not contact the store. Every backend has elections.
   *
   * @param name as for {@link #lock(String)}, whose lock the leader holds
   * @return the election
   * @throws IllegalArgumentException if {@link #lock(String)} refuses the name
   * @throws IllegalStateException if the client is closed
   */
  default LeaderElection election(String name) {
    return election(name, unchanged -> {});
  }

  /**
   * Returns the election of the given name, with some options changed. Does not contact the store.
   *
   * @param name as for {@link #lock(String)}
   * @param change changes the client's options, as in {@link #lock(String, Consumer)}
   * @return the election
   * @throws IllegalArgumentException if {@link #lock(String, Consumer)} refuses the name or change
   * @throws IllegalStateException if the client is closed
   */
  LeaderElection election(String name, Consumer<? super LockOptions.Builder> change);

  /** {@return operations on any lock of the store, for operators and diagnostics} */
  LockAdmin admin();

  /** {@return the backend's name, capabilities and guarantees} */
  BackendInfo backend();

  /** {@return the address of the store, as in error messages, without any password} */
  String endpoint();

  /**
   * {@return the leases held through this client at this moment, ordered by name} The list is a
   * snapshot for diagnostics, made without asking the store. A {@linkplain #multiLock set} has an
   * entry for each of its names. A lock that the client keeps for its {@linkplain
   * LockOptions#minHold() minimum hold} stays in the list until then.
   */
  List<LeaseInfo> leases();

  /**
   * {@return the acquisitions of this client that are waiting at this moment, ordered by name} The
   * list is a snapshot for diagnostics, made without asking the store. An acquisition waits while
   * the lock is held or others are ahead in the queue, and while it retries because the store is
   * unavailable. It is not in the list during its first request to the store.
   */
  List<WaiterInfo> waiters();

  /**
   * Calls the listener for every event of this client from now on, in order, on a thread of the
   * client. The client logs the exceptions of a listener. A listener that blocks delays only its
   * own further events, which stay in memory until it returns.
   *
   * @param listener the listener
   * @return the registration; closing it removes the listener, and is optional
   */
  @CanIgnoreReturnValue
  Registration onEvent(Consumer<? super LockEvent> listener);

  /**
   * Closes the client without waiting for leases; see {@link #close(Duration)}. Only the work of a
   * candidacy gets a request time-out to end. Never throws for a lost lease or an unreachable
   * store.
   */
  @Override
  default void close() {
    close(Duration.ZERO);
  }

  /**
   * Closes the client once its leases have been released, or after the given time.
   *
   * <p>From this call on the client acquires nothing, and every wait ends with {@link
   * IllegalStateException}. Leases stay held, and are renewed. {@linkplain LeaderElection#start
   * Candidacies} are withdrawn, and {@linkplain LeaderElection#observe observers} get no more
   * calls.
   *
   * <p>When the time has passed, or the calling thread is interrupted, the leases that are still
   * held are lost with the reason {@link LossReason#CLOSED}. The client signals the loss, and then
   * releases the locks. A later {@link Lease#release()} of such a lease returns {@link
   * ReleaseOutcome#ALREADY_LOST}. Finally the client disconnects, unless it uses the program's own
   * driver client.
   *
   * <p>Blocks for at most the given time and twice the request time-out. Locks whose release was
   * not confirmed by then are free after their TTL. The interrupt status is kept. Closing again
   * does nothing, even while the first call is still waiting.
   *
   * <p>Shutdown hooks all run at the same time, beside the program's other threads. A hook that
   * closes the client without a drain takes locks away from work that another hook is still
   * finishing.
   *
   * @param drain how long to wait for leases that are held
   * @throws IllegalArgumentException if it is negative
   */
  void close(Duration drain);
}
