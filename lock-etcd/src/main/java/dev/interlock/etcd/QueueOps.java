package dev.interlock.etcd;

import dev.interlock.spi.Share;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.GetOption.SortOrder;
import io.etcd.jetcd.options.GetOption.SortTarget;
import io.etcd.jetcd.options.OptionsUtil;
import io.etcd.jetcd.options.PutOption;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The comparisons and operations of transactions on a lock's queue. */
final class QueueOps {

  private QueueOps() {}

  static Cmp isAbsent(ByteSequence key) {
    return hasCreateRevision(key, 0);
  }

  /**
   * Compares the key's creation revision, which distinguishes it from later keys of the same name.
   */
  static Cmp hasCreateRevision(ByteSequence key, long revision) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(revision));
  }

  static Cmp hasValue(ByteSequence key, ByteSequence value) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(value));
  }

  /** Compares the revision of the key's last write. */
  static Cmp hasModRevision(ByteSequence key, long revision) {
    return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(revision));
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

  /**
   * Reads, in the transaction that puts a claim's entry, whether the entry holds the lock. The
   * result contains all entries for which the claim may have to wait or, if it waits for every
   * entry, any two. The two are not sorted, because to sort them etcd would read all entries while
   * no other write could proceed.
   */
  static Op readWithPut(LockKeys keys, Share share) {
    return Op.get(
        keys.prefix(),
        share.isWhole()
            ? GetOption.builder().isPrefix(true).withLimit(2).build()
            : all(keys, share).build());
  }

  /** Reads the entries for which a claim waits whose entry was created at a revision. */
  static Op ahead(LockKeys keys, Share share, long revision) {
    return share.isWhole()
        ? predecessor(keys, revision)
        : Op.get(keys.prefix(), all(keys, share).withMaxCreateRevision(revision - 1).build());
  }

  /**
   * Reads the entries that exclude a claim without an entry: any one if the claim excludes all
   * others.
   */
  static GetOption inTheWayOf(LockKeys keys, Share share) {
    return share.isWhole() ? any() : all(keys, share).build();
  }

  private static GetOption.Builder all(LockKeys keys, Share share) {
    return GetOption.builder().withRange(keys.entriesInTheWayOf(share).end()).withKeysOnly(true);
  }

  /** Reads the first entry at a revision; 0 is the latest revision. */
  static GetOption first(long revision) {
    return sorted(SortOrder.ASCEND).withLimit(1).withKeysOnly(true).withRevision(revision).build();
  }

  /** Reads the newest entry that is older than a revision. */
  private static Op predecessor(LockKeys keys, long revision) {
    return Op.get(
        keys.prefix(),
        sorted(SortOrder.DESCEND)
            .withMaxCreateRevision(revision - 1)
            .withLimit(1)
            .withKeysOnly(true)
            .build());
  }

  /** Reads all entries, the holder's first. */
  static GetOption all() {
    return sorted(SortOrder.ASCEND).build();
  }

  /** Reads the oldest entries up to a limit, the holder's first. */
  static GetOption oldest(int limit) {
    return sorted(SortOrder.ASCEND).withLimit(limit).build();
  }

  /** Reads the entry that was created at a revision. */
  static GetOption createdAt(long revision) {
    return GetOption.builder()
        .isPrefix(true)
        .withMinCreateRevision(revision)
        .withMaxCreateRevision(revision)
        .withKeysOnly(true)
        .build();
  }

  /** Reads any one entry, which etcd finds faster than the first. */
  static GetOption any() {
    return GetOption.builder().isPrefix(true).withLimit(1).build();
  }

  /** Reads keys with a prefix up to a limit, in the order of the keys. */
  static GetOption page(ByteSequence prefix, int limit) {
    return GetOption.builder().withRange(OptionsUtil.prefixEndOf(prefix)).withLimit(limit).build();
  }

  private static GetOption.Builder sorted(SortOrder order) {
    return GetOption.builder().isPrefix(true).withSortField(SortTarget.CREATE).withSortOrder(order);
  }

  /** The first key that the transaction's n-th read found, or null. */
  static @Nullable KeyValue found(TxnResponse answer, int read) {
    return found(answer.getGetResponses(), read);
  }

  /** The first key that the n-th read of a transaction found, or null. */
  static @Nullable KeyValue found(List<GetResponse> reads, int read) {
    List<KeyValue> kvs = reads.get(read).getKvs();
    return kvs.isEmpty() ? null : kvs.get(0);
  }
}
