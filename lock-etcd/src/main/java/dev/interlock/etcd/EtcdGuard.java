package dev.interlock.etcd;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import java.util.List;
import java.util.Objects;

/**
 * Fences writes to etcd itself: a transaction with this comparison is carried out only while the
 * lock is still held by the turn to which the lease belongs, whatever the writer believes.
 *
 * <pre>{@code
 * EtcdGuard guard = EtcdGuard.of(etcd, EtcdSettings.defaults(), lease);
 * boolean written = etcd.getKVClient().txn()
 *     .If(guard.isHeld())
 *     .Then(Op.put(key, value, PutOption.DEFAULT))
 *     .commit().get().isSucceeded();
 * }</pre>
 *
 * <p>It is stronger than a comparison of tokens: the write is refused as soon as the lock is gone,
 * and not only when a successor has come. So nothing has to be claimed before the value is read
 * that is to be changed; it is enough that this is done under the lease, by a linearizable read,
 * which is what jetcd does unless told otherwise. The guard costs a read when it is made and
 * nothing afterwards, and may be used as long as the lease lasts, from any thread.
 *
 * <p>Leases that one client hands from thread to thread on one turn share its place on etcd, and so
 * this comparison. It tells processes apart, and turns; a thread that writes after its own {@link
 * Lease#release()} has to be kept from it by its program.
 */
public final class EtcdGuard {

  // As the engine shows them: see Grant.token().
  private static final int TOKENS_PER_TURN = 64;

  private final Cmp held;

  private EtcdGuard(Cmp held) {
    this.held = held;
  }

  /**
   * Looks for the lease's place on etcd.
   *
   * @param etcd a client of the cluster on which the lock is
   * @param settings how the locks are kept, as in the client that gave the lease
   * @param lease a lease on etcd
   * @return a guard for as long as the lease lasts
   * @throws LeaseLostException if the lock is no longer this lease's
   * @throws dev.interlock.LockUnavailableException if etcd does not answer within the default
   *     request time-out
   * @throws InterruptedException if the thread is interrupted
   */
  public static EtcdGuard of(Client etcd, EtcdSettings settings, Lease lease)
      throws InterruptedException {
    Objects.requireNonNull(etcd, "etcd");
    TimeSource time = TimeSource.system();
    Requests requests =
        new Requests(Clients.ofUser(etcd), new Failures("the jetcd client's endpoints"), time);
    LockKeys keys = LockKeys.of(settings.namespace(), lease.name());
    List<KeyValue> first =
        requests
            .askAgain(
                Deadline.in(time, LockOptions.defaults().requestTimeout()),
                client -> client.getKVClient().get(keys.prefix(), Line.first()))
            .getKvs();
    long revision = lease.fencingToken() / TOKENS_PER_TURN;
    if (first.isEmpty() || first.get(0).getCreateRevision() != revision) {
      throw new LeaseLostException(
          lease.name(), LossReason.TAKEN, "its key is no longer the first in line", null);
    }
    return new EtcdGuard(Line.isOf(first.get(0).getKey(), revision));
  }

  /**
   * Returns the comparison, for {@link io.etcd.jetcd.Txn#If}.
   *
   * @return true on etcd as long as the lock is held
   */
  public Cmp isHeld() {
    return held;
  }
}
