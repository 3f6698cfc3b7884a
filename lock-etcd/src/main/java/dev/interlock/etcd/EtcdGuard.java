package dev.interlock.etcd;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LossReason;
import dev.interlock.spi.Grant;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import java.util.List;
import java.util.Objects;

/**
 * Fences writes to the etcd that keeps the lock: a transaction with this comparison succeeds only
 * while etcd still has the lock for this lease, whatever the writer believes. For data on an etcd
 * that does not keep the lock, use {@link EtcdFence}.
 *
 * <pre>{@code
 * EtcdGuard guard = EtcdGuard.of(etcd, EtcdSettings.defaults(), lease);
 * boolean written = etcd.getKVClient().txn()
 *     .If(guard.isHeld())
 *     .Then(Op.put(key, value, PutOption.DEFAULT))
 *     .commit().get().isSucceeded();
 * }</pre>
 *
 * <p>This is stronger than a comparison of tokens: the write is refused as soon as the lock is
 * gone, and not only when a successor has written. A read-modify-write therefore need not claim its
 * token first; it is enough to read the value under the lease, by a linearizable read, which is
 * jetcd's default. Creating the guard costs one read, and using it costs nothing. Any thread may
 * use it as long as the lease lasts.
 *
 * <p>Leases that one client hands from thread to thread share one key on etcd, and therefore this
 * comparison. It distinguishes processes, and acquisitions from etcd; the program itself must keep
 * a thread from writing after its own {@link Lease#release()}.
 *
 * <p>A guard works in the same way for leases of readers, writers and permits. It does not keep
 * concurrent readers, or holders of permits, from writing at the same time.
 */
public final class EtcdGuard {

  private final Cmp held;

  private EtcdGuard(Cmp held) {
    this.held = held;
  }

  /**
   * Returns a guard for a lease, after looking up the lease's key on etcd.
   *
   * @param etcd a client of the cluster that keeps the lock
   * @param settings the settings of the lock client that gave the lease
   * @param lease a lease on etcd
   * @return a guard that lasts as long as the lease
   * @throws LeaseLostException if the lock no longer belongs to this lease
   * @throws dev.interlock.LockUnavailableException if etcd does not answer within the default
   *     request time-out
   * @throws InterruptedException if the thread is interrupted
   */
  public static EtcdGuard of(Client etcd, EtcdSettings settings, Lease lease)
      throws InterruptedException {
    Objects.requireNonNull(etcd, "etcd");
    LockKeys keys = LockKeys.of(settings.namespace(), lease.name());
    long revision = lease.fencingToken() / Grant.LEASES_PER_GRANT;
    List<KeyValue> own =
        Requests.askAgain(
                etcd,
                Failures.ofProgram(),
                client -> client.get(keys.prefix(), QueueOps.createdAt(revision)))
            .getKvs();
    if (own.isEmpty()) {
      throw new LeaseLostException(
          lease.name(), LossReason.TAKEN, "its key is no longer in the queue", null);
    }
    return new EtcdGuard(QueueOps.hasCreateRevision(own.get(0).getKey(), revision));
  }

  /** {@return a comparison for {@link io.etcd.jetcd.Txn#If}, true as long as the lock is held} */
  public Cmp isHeld() {
    return held;
  }
}
