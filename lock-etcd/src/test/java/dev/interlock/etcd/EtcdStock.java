package dev.interlock.etcd;

import dev.interlock.Lease;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.nio.charset.StandardCharsets;

/** The recipes of docs/fencing.md for etcd. The page quotes parts of this file literally. */
final class EtcdStock {

  private final ByteSequence key = bytes("data/stock/42");

  private final Client etcd;
  private final EtcdFence fence;

  EtcdStock(Client etcd) {
    this.etcd = etcd;
    this.fence = EtcdFence.using(etcd);
  }

  /** Sells one piece. The lock may be anywhere. */
  boolean sell(Lease lease) throws Exception {
    fence.claim(lease); // before the read
    int quantity = read();
    // … any work, however long
    return quantity > 0 && write(fence.isCurrent(lease), quantity - 1);
  }

  /** Sells one piece. The lock is in the same etcd. */
  boolean sellGuarded(Lease lease) throws Exception {
    EtcdGuard guard = EtcdGuard.of(etcd, EtcdSettings.defaults(), lease);
    int quantity = read();
    // … any work, however long
    return quantity > 0 && write(guard.isHeld(), quantity - 1);
  }

  private boolean write(Cmp condition, int quantity) throws Exception {
    return etcd.getKVClient()
        .txn()
        .If(condition)
        .Then(Op.put(key, bytes("" + quantity), PutOption.DEFAULT))
        .commit()
        .get()
        .isSucceeded();
  }

  int read() throws Exception {
    return Integer.parseInt(
        etcd.getKVClient().get(key).get().getKvs().get(0).getValue().toString());
  }

  void put(int quantity) throws Exception {
    etcd.getKVClient().put(key, bytes("" + quantity)).get();
  }

  boolean write(String name, long token, int quantity) throws Exception {
    return write(fence.isCurrent(name, token), quantity);
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }
}
