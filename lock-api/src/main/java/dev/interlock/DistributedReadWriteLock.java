package dev.interlock;

/**
 * A lock that one writer holds alone, or any number of readers together. Has no state, costs little
 * to create, and needs no closing.
 *
 * <pre>{@code
 * DistributedReadWriteLock catalog = client.readWriteLock("catalog");
 * try (Lease lease = catalog.readLock().acquire()) {
 *   show(lease);
 * }
 * try (Lease lease = catalog.writeLock().acquire()) {
 *   replace(lease);
 * }
 * }</pre>
 *
 * <p>Each side is a {@link DistributedLock} with all of its methods. Where the store keeps a queue
 * ({@link Capability#FIFO}), readers and writers are served in the order in which their requests
 * reached it. Elsewhere a writer that waits keeps out readers that come after it, and the readers
 * that wait when a writer leaves come before the next writer. So neither side starves. The wait of
 * a writer is bounded by how long the readers before it hold the lock; {@link
 * LockOptions#maxHold()} limits that.
 *
 * <p>A lease of one side cannot be turned into one of the other. A thread that holds a lease of one
 * side and waits for the other waits for itself; the {@linkplain DistributedLock#asLock() views}
 * throw {@link IllegalStateException} instead, also where {@link
 * java.util.concurrent.locks.ReentrantReadWriteLock} would allow a downgrade.
 *
 * <p>Threads of one client that wait for the read lock at the same time are granted it together, by
 * one request; their releases ask the store once, for the last of them.
 *
 * <p>Every lease has a fencing token of its own, higher than those of all leases granted before it.
 * A guarded store must compare a reader's token with that of the latest <em>writer</em> only,
 * because readers that hold together may come in any order; see the guide on guarantees.
 */
public interface DistributedReadWriteLock {

  /** {@return the lock's name} */
  String name();

  /** {@return the side that readers share} */
  DistributedLock readLock();

  /** {@return the side of the one writer} */
  DistributedLock writeLock();
}
