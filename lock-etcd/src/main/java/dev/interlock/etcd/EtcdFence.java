package dev.interlock.etcd;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockUnavailableException;
import dev.interlock.StaleTokenException;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.util.List;
import java.util.Objects;

/**
 * Refuses late writes to etcd: the fencing token of each lock's latest holder is kept in a key
 * beside the data, and compared in the transaction that writes. The locks may be on any backend. If
 * they are on the same etcd, {@link EtcdGuard} needs no claim.
 *
 * <pre>{@code
 * EtcdFence fence = EtcdFence.using(etcd);
 * try (Lease lease = lock.acquire()) {
 *   fence.claim(lease); // before anything is read
 *   int quantity = read();
 *   boolean written = etcd.getKVClient().txn()
 *       .If(fence.isCurrent(lease))
 *       .Then(Op.put(key, bytes(quantity - 1), PutOption.DEFAULT))
 *       .commit().get().isSucceeded();
 * }
 * }</pre>
 *
 * <p>A claim raises the fence to the lease's token, in one transaction. From then on the
 * comparisons of all earlier holders fail. Read the data by linearizable reads, which are jetcd's
 * default. If the answer to a write is lost, the write may still arrive: repeat the same write. To
 * make sure that it never arrives, release the lock and acquire it again; the next claim keeps the
 * write out. Claims may be repeated.
 *
 * <p>By default the fence of the lock {@code stock/42} is the key {@code
 * interlock-fence/stock%2F42}; its value is the token in 19 digits, so that etcd compares it as a
 * number. The key is never deleted here. You may delete it when its last claim is older than the
 * longest pause of any process: an earlier claim fails from then on, and its holder must claim and
 * read again.
 *
 * <p>Tokens of a semaphore's permits, and of readers, must not be claimed: several are valid at
 * once. An instance is immutable and may be used by all threads. It never closes the jetcd client.
 */
public final class EtcdFence {

  private final Client etcd;
  private final String prefix;

  private EtcdFence(Client etcd, String prefix) {
    this.etcd = etcd;
    this.prefix = prefix;
  }

  /**
   * Returns the fences of locks in the default namespace.
   *
   * @param etcd a client of the cluster that has the data; with the right to read and write keys
   *     that begin with {@code interlock-fence/}, or with the client's own namespace before that
   * @return the fences
   */
  public static EtcdFence using(Client etcd) {
    return using(etcd, EtcdSettings.defaults());
  }

  /**
   * Returns the fences of locks in a namespace. Locks of the same name in two namespaces, or on two
   * backends, need fences of their own, because their tokens are not comparable: a namespace also
   * keeps apart the fences of locks on other backends.
   *
   * @param etcd a client of the cluster that has the data; with the right to read and write keys
   *     that begin with the namespace and {@code -fence/}, or with the client's own namespace
   *     before that
   * @param settings the settings of the lock clients; for locks on another backend, any settings
   *     that all their holders share
   * @return the fences
   */
  public static EtcdFence using(Client etcd, EtcdSettings settings) {
    return new EtcdFence(Objects.requireNonNull(etcd, "etcd"), settings.namespace() + "-fence/");
  }

  /**
   * Claims the token of a lease: raises the fence of the lock to it. Blocks for at most the default
   * request time-out.
   *
   * @param lease an exclusive lease, or that of a writer
   * @throws StaleTokenException if a later holder has claimed its token
   * @throws LeaseLostException if the lease is known to be lost; nothing was sent
   * @throws IllegalStateException if the lease was released; nothing was sent
   * @throws LockUnavailableException if etcd does not answer; the token may be claimed, claim again
   * @throws dev.interlock.LockConfigurationException if etcd refuses the user
   * @throws UnsupportedOperationException if the lease has no single token
   * @throws InterruptedException if the thread is interrupted; the token may be claimed
   */
  public void claim(Lease lease) throws InterruptedException {
    lease.ensureHeld();
    claim(lease.name(), lease.fencingToken());
  }

  /**
   * Claims a token that another process has sent, or that of one name of a set.
   *
   * @param name the lock's name
   * @param token the token of its lease
   * @throws StaleTokenException if a later holder has claimed its token
   * @throws IllegalArgumentException if the name is empty, or the token not positive
   * @throws LockUnavailableException if etcd does not answer; the token may be claimed, claim again
   * @throws dev.interlock.LockConfigurationException if etcd refuses the user
   * @throws InterruptedException if the thread is interrupted; the token may be claimed
   */
  public void claim(String name, long token) throws InterruptedException {
    ByteSequence key = key(name);
    ByteSequence own = value(token);
    TxnResponse answer =
        Requests.askAgain(
            etcd,
            Failures.ofProgram("keys that begin with " + prefix),
            client ->
                client
                    .txn()
                    // The comparison is false for a missing key.
                    .If(new Cmp(key, Cmp.Op.GREATER, CmpTarget.value(own)))
                    .Then(Op.get(key, GetOption.DEFAULT))
                    .Else(Op.put(key, own, PutOption.DEFAULT))
                    .commit());
    if (answer.isSucceeded()) {
      throw new StaleTokenException(name, token, claimed(key, answer));
    }
  }

  private static long claimed(ByteSequence key, TxnResponse answer) {
    List<KeyValue> found = answer.getGetResponses().get(0).getKvs();
    String value = found.get(0).getValue().toString();
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      throw new IllegalStateException(
          "the key " + key + " is not a fence: its value is not a token", e);
    }
  }

  /**
   * Returns a comparison that is true as long as the claim of a lease is the latest. Sends nothing.
   *
   * @param lease a lease whose token was claimed
   * @return a comparison for {@link io.etcd.jetcd.Txn#If}
   * @throws LeaseLostException if the lease is known to be lost
   * @throws IllegalStateException if the lease was released
   * @throws UnsupportedOperationException if the lease has no single token
   */
  public Cmp isCurrent(Lease lease) {
    lease.ensureHeld();
    return isCurrent(lease.name(), lease.fencingToken());
  }

  /**
   * Returns a comparison that is true as long as the claim of a token that another process has
   * sent, or of one name of a set, is the latest. Sends nothing.
   *
   * @param name the lock's name
   * @param token the token of its lease
   * @return a comparison for {@link io.etcd.jetcd.Txn#If}
   * @throws IllegalArgumentException if the name is empty, or the token not positive
   */
  public Cmp isCurrent(String name, long token) {
    return new Cmp(key(name), Cmp.Op.EQUAL, CmpTarget.value(value(token)));
  }

  private ByteSequence key(String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a lock's name must not be empty");
    }
    return LockKeys.bytes(prefix + LockKeys.encoded(name));
  }

  private static ByteSequence value(long token) {
    if (token <= 0) {
      throw new IllegalArgumentException("a fencing token must be positive, not " + token);
    }
    String digits = Long.toString(token);
    return LockKeys.bytes("0".repeat(19 - digits.length()) + digits);
  }
}
