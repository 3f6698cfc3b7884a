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
 * <p>Each side is a {@link DistributedLock} with all of its methods. If the store keeps a queue
 * ({@link Capability#FIFO}), readers and writers are served in the order in which their requests
 * reached it. Otherwise a waiting writer keeps out readers that come after it, and readers that are
 * waiting when a writer's hold ends are served before the next writer. So neither side starves. A
 * writer waits at most for as long as the readers before it hold the lock; {@link
 * LockOptions#maxHold()} limits that.
 *
 * <p>A lease of one side cannot become a lease of the other. A thread that holds a lease of one
 * side and waits for the other waits for itself. The {@linkplain DistributedLock#asLock() views}
 * throw {@link IllegalStateException} instead, even where {@link
 * java.util.concurrent.locks.ReentrantReadWriteLock} would allow a downgrade.
 *
 * <p>Threads of one client that wait for the read lock at the same time acquire it together, with
 * one request. Only the last release contacts the store.
 *
 * <p>Every lease has a fencing token of its own, higher than those of all leases granted before it.
 * A guarded store must compare a reader's token only with that of the latest <em>writer</em>,
 * because readers that hold the lock together may arrive in any order; see the guide on guarantees.
 */
public interface DistributedReadWriteLock {

  /** {@return the lock's name} */
  String name();

  /** {@return the side that readers hold together} */
  DistributedLock readLock();

  /** {@return the side that a writer holds alone} */
  DistributedLock writeLock();
}
