package dev.interlock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Response;
import org.jspecify.annotations.Nullable;

/**
 * What a place in line has seen.
 *
 * @param before the key in front of it, or null if it is the first
 * @param answer the answer that showed this
 * @param confirmation the session's, when the request was sent
 */
record QueueView(@Nullable ByteSequence before, Response answer, Confirmation confirmation) {

  boolean isFirst() {
    return before == null;
  }

  /** The store's, when this was seen. */
  long revision() {
    return answer.getHeader().getRevision();
  }

  /** Whether the session was alive under the leader that gave the answer. */
  boolean isProved() {
    return confirmation.isProvedBy(answer);
  }
}
