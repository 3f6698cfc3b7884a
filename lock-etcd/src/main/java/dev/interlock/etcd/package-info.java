/**
 * Locks on etcd, 3.4 or later.
 *
 * <p>{@link dev.interlock.LockClient#open(String)} opens URIs with the schemes {@code etcd} and
 * {@code etcds}; {@link dev.interlock.etcd.EtcdLocks} uses a jetcd client of the program's own.
 * {@link dev.interlock.etcd.EtcdGuard} makes the program's own transactions depend on a lease.
 * {@link dev.interlock.etcd.EtcdFence} does so for a lock that is kept elsewhere.
 *
 * <p>A client that wants the lock {@code orders/42} puts a key below {@code
 * interlock/lock/orders%2F42/}. The key that was created first holds the lock, and its creation
 * revision is the fencing token. Interlock reserves numbers between the revisions for handoffs, so
 * tokens stay below 2<sup>53</sup> until etcd has seen 2<sup>47</sup> writes: 44 years of a hundred
 * thousand a second. Every other client waits for the key before its own. The client keeps the
 * leases of its keys alive, and the keys end with them if the client dies; each of these leases has
 * a key below {@code interlock/session/}. A lock that is not renewed has its own lease. etcd does
 * not record when a waiter was granted the lock, so {@code heldSince} is empty.
 *
 * <p>A client has one key per name in the queue, however many of its threads wait. {@link
 * dev.interlock.LockState#waiters()} therefore shows one label for each waiting client: that of the
 * acquisition that joined the queue. A {@link dev.interlock.LockTimeoutException} names the holder
 * if only the holder was ahead. A listing reads the keys of a prefix in pages of a hundred, and
 * shows up to 99 waiters of a lock.
 *
 * <p>etcd counts whole seconds, and at least 2 with its default election time-out. etcd rounds
 * shorter TTLs and fractions up, as {@link dev.interlock.Lease#effectiveTtl()} shows; in the client
 * the leases end on time.
 *
 * <p>{@link dev.interlock.LockClient#backend()} tells which faults a lock survives, which depends
 * on the number of members. With three or more a lock survives what a majority survives, with one
 * exception: before etcd's pull request 16822 (in the later releases of the lines 3.4 and 3.5) a
 * leader that was suspended for longer than an election may, when it resumes, end leases that its
 * successor keeps alive. The tokens stay in order.
 */
@NullMarked
package dev.interlock.etcd;

import org.jspecify.annotations.NullMarked;
