package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import org.jspecify.annotations.Nullable;

/**
 * The format in which locks are stored below a namespace.
 *
 * <p>This version writes the format into each session's key; the empty value of version 0.1 means
 * the same. A later version that stores locks in another way must put a key {@code
 * NAMESPACE/format}, in a transaction that requires that no session of an older version exists.
 * Such a key keeps this version from beginning a session, and so from acquiring any lock.
 */
final class StoredFormat {

  /** The value of a session's key. */
  static final ByteSequence MARK = LockKeys.bytes("1");

  private final String namespace;
  private final ByteSequence key;

  StoredFormat(String namespace) {
    this.namespace = namespace;
    this.key = LockKeys.bytes(namespace + "/format");
  }

  /** Compares whether the namespace has no key with another format. */
  Cmp isKnown() {
    return QueueOps.isAbsent(key);
  }

  /** Reads the key that {@link #requireKnown} checks. */
  Op read() {
    return Op.get(key, GetOption.DEFAULT);
  }

  /** Refuses an unknown format that the transaction's n-th read found. */
  void requireKnown(TxnResponse answer, int read, Failures failures) {
    @Nullable KeyValue found = QueueOps.found(answer, read);
    if (found != null) {
      throw failures.misconfigured(
          "locks below "
              + namespace
              + "/ are stored in a format that this version of Interlock does not know (format "
              + found.getValue().toString(UTF_8)
              + "); upgrade this program, or use another namespace",
          null);
    }
  }
}
