package dev.interlock.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Response;
import java.util.List;

/**
 * What a queue entry has seen of its queue.
 *
 * @param ahead those for which it waits; of a queue that was not read completely, any of them
 * @param isComplete whether the queue was read completely
 * @param answer the answer that showed this
 * @param confirmation the session's, when the request was sent
 */
record QueueView(
    EntriesAhead ahead, boolean isComplete, Response answer, Confirmation confirmation) {

  static QueueView of(
      QueueEntry entry,
      List<KeyValue> found,
      boolean isComplete,
      Response answer,
      Confirmation confirmation) {
    EntriesAhead ahead =
        EntriesAhead.of(entry.claim().share(), entry.keys(), found, entry.revision());
    return new QueueView(ahead, isComplete, answer, confirmation);
  }

  /** The same entries, as a later answer showed them. */
  QueueView confirmedBy(Response later, Confirmation confirmation) {
    return new QueueView(ahead, isComplete, later, confirmation);
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
