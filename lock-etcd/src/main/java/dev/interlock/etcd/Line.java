package dev.interlock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.GetOption.SortOrder;
import io.etcd.jetcd.options.GetOption.SortTarget;
import io.etcd.jetcd.options.PutOption;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The comparisons and operations that transactions on a lock's line are made of. */
final class Line {

  private Line() {}

  static Cmp isAbsent(ByteSequence key) {
    return isOf(key, 0);
  }

  /** The key is the one that was created at this revision, and no later one of the same name. */
  static Cmp isOf(ByteSequence key, long createRevision) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(createRevision));
  }

  static Cmp holds(ByteSequence key, ByteSequence value) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(value));
  }

  static Cmp isUnwrittenSince(ByteSequence key, long modRevision) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(modRevision));
  }

  static Op put(ByteSequence key, ByteSequence value, long lease) {
    return Op.put(key, value, PutOption.builder().withLeaseId(lease).build());
  }

  static Op delete(ByteSequence key) {
    return Op.delete(key, DeleteOption.DEFAULT);
  }

  static Op get(ByteSequence key) {
    return Op.get(key, GetOption.builder().withKeysOnly(true).build());
  }

  /** The two that came last: whoever has just come, and its predecessor. */
  static Op lastTwo(LockKeys keys) {
    return Op.get(keys.prefix(), inLine(SortOrder.DESCEND).withLimit(2).withKeysOnly(true).build());
  }

  /** The one that came next before a revision. */
  static Op predecessor(LockKeys keys, long revision) {
    return Op.get(
        keys.prefix(),
        inLine(SortOrder.DESCEND)
            .withMaxCreateRevision(revision - 1)
            .withLimit(1)
            .withKeysOnly(true)
            .build());
  }

  /** Everybody in line, the holder first. */
  static GetOption everybody() {
    return inLine(SortOrder.ASCEND).build();
  }

  /** The holder. */
  static GetOption first() {
    return inLine(SortOrder.ASCEND).withLimit(1).build();
  }

  /** Anybody, which is cheaper to find than the first. */
  static GetOption anybody() {
    return GetOption.builder().isPrefix(true).withLimit(1).withKeysOnly(true).build();
  }

  private static GetOption.Builder inLine(SortOrder order) {
    return GetOption.builder().isPrefix(true).withSortField(SortTarget.CREATE).withSortOrder(order);
  }

  /** The first key that the transaction's n-th read found, or null. */
  static @Nullable KeyValue found(TxnResponse answer, int read) {
    List<KeyValue> kvs = answer.getGetResponses().get(read).getKvs();
    return kvs.isEmpty() ? null : kvs.get(0);
  }
}
