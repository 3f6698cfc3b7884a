/**
 * Locks on etcd, 3.4 or later.
 *
 * <p>URIs with the schemes {@code etcd} and {@code etcds} are opened by {@link
 * dev.interlock.LockClient#open(String)}; a jetcd client that the program already has is taken by
 * {@link dev.interlock.etcd.EtcdLocks}. {@link dev.interlock.etcd.EtcdGuard} makes transactions of
 * the program's own depend on a lease.
 *
 * <p>Who wants a lock {@code orders/42} puts a key below {@code interlock/lock/orders%2F42/}; the
 * key that was created first holds it, and its creation revision is the fencing token: below
 * 2<sup>53</sup>, with the room that Interlock leaves for handoffs, as long as etcd has seen fewer
 * than 2<sup>47</sup> writes, 44 years of a hundred thousand a second. The others each wait for the
 * one before them. Keys hang on a lease that the client keeps alive, and with which they all end if
 * the client dies; the client's session has a key below {@code interlock/session/}. Leases of locks
 * that are not renewed are their own. etcd counts whole seconds, and at least 2 with its default
 * election time-out: shorter and broken TTLs are rounded up there, {@link
 * dev.interlock.Lease#effectiveTtl()} tells, and end here when they should.
 *
 * <p>What survives which fault is said by {@link dev.interlock.LockClient#backend()}, and depends
 * on the number of members. With three or more a lock survives whatever a majority survives. One
 * thing to know: before etcd's pull request 16822 (in the later releases of the lines 3.4 and 3.5)
 * a leader that was stopped for longer than an election, and goes on, may end leases that its
 * successor keeps alive. The tokens stay in order.
 */
@NullMarked
package dev.interlock.etcd;

import org.jspecify.annotations.NullMarked;
