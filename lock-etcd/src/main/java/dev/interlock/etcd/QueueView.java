package dev.interlock.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Response;
import java.util.List;

/**
 * What a queue entry has seen of its queue.
 *
 * @param ahead those for which it waits
 * @param answer the answer that showed this
 * @param confirmation the session's, when the request was sent
 */
record QueueView(EntriesAhead ahead, Response answer, Confirmation confirmation) {

  static QueueView of(
      QueueEntry entry, List<KeyValue> found, Response answer, Confirmation confirmation) {
    EntriesAhead ahead =
        EntriesAhead.of(entry.claim().share(), entry.keys(), found, entry.revision());
    return new QueueView(ahead, answer, confirmation);
  }

  /** Whether the entry holds the name. */
  boolean isTurn() {
    return ahead.leaveRoom();
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
