package dev.interlock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Response;
import org.jspecify.annotations.Nullable;

/**
 * What a queue entry has seen of its queue.
 *
 * @param predecessor the key of the entry before it, or null if it is the first
 * @param answer the answer that showed this
 * @param confirmation the session's, when the request was sent
 */
record QueueView(@Nullable ByteSequence predecessor, Response answer, Confirmation confirmation) {

  boolean isFirst() {
    return predecessor == null;
  }

  /** The store's revision when this was seen. */
  long revision() {
    return answer.getHeader().getRevision();
  }

  /** Whether the session was alive under the leader that gave the answer. */
  boolean isProved() {
    return confirmation.isProvedBy(answer);
  }
}
