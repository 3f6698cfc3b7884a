package dev.interlock.etcd;

import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Response;
import java.util.List;

/**
 * The view that a queue entry has of its queue.
 *
 * @param ahead the entries for which it waits, or any of them if the queue was not read completely
 * @param isComplete whether the queue was read completely
 * @param answer the answer that showed this
 * @param confirmation the session's last confirmation when the request was sent
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

  /** Returns this view with a later answer that showed the same entries. */
  QueueView confirmedBy(Response later, Confirmation confirmation) {
    return new QueueView(ahead, isComplete, later, confirmation);
  }

  /** Whether the entry holds the lock. */
  boolean holdsName() {
    return ahead.leaveRoom();
  }

  /** The revision of etcd to which this view belongs. */
  long revision() {
    return answer.getHeader().getRevision();
  }

  /** Whether the session was alive under the leader that gave the answer. */
  boolean isProven() {
    return confirmation.isProvenBy(answer);
  }
}
