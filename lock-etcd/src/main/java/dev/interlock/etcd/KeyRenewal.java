package dev.interlock.etcd;

import com.google.common.collect.Lists;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants. It keeps their leases alive, with one request for all grants of a session. Then it
 * reads their keys, which also proves that the leader that kept the leases alive still has a
 * majority.
 */
final class KeyRenewal {

  // etcd accepts 128 operations in a transaction by default (--max-txn-ops).
  private static final int MAX_OPERATIONS = 100;

  private final Requests requests;
  private final Failures failures;
  private final Sessions sessions;

  KeyRenewal(Requests requests, Failures failures, Sessions sessions) {
    this.requests = requests;
    this.failures = failures;
    this.sessions = sessions;
  }

  List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    Map<Long, Confirmation> alive = new HashMap<>();
    Map<Long, Renewal> failed = new HashMap<>();
    Renewal[] outcomes = new Renewal[grants.size()];
    List<Renewed> toCheck = new ArrayList<>();
    for (int i = 0; i < outcomes.length; i++) {
      QueueEntry entry = QueueEntry.of(grants.get(i).claim());
      if (entry == null) {
        outcomes[i] = new Renewal.Lost(LossReason.TAKEN, "it was released");
        continue;
      }
      long lease = entry.lease();
      if (!alive.containsKey(lease) && !failed.containsKey(lease)) {
        keepAlive(entry, alive, failed, deadline);
      }
      Confirmation confirmation = alive.get(lease);
      if (confirmation == null) {
        outcomes[i] = failed.get(lease);
      } else {
        toCheck.add(new Renewed(i, grants.get(i), entry, confirmation));
      }
    }
    for (List<Renewed> batch : Lists.partition(toCheck, MAX_OPERATIONS)) {
      check(batch, outcomes, deadline);
    }
    return List.of(outcomes);
  }

  /** A grant whose lease was kept alive, and its index in the list of grants. */
  private record Renewed(int index, Grant grant, QueueEntry entry, Confirmation confirmation) {}

  private void keepAlive(
      QueueEntry entry, Map<Long, Confirmation> alive, Map<Long, Renewal> failed, Deadline deadline)
      throws InterruptedException {
    long lease = entry.lease();
    try {
      alive.put(
          lease,
          entry.hasOwnLease()
              ? sessions.confirm(lease, deadline)
              : sessions.confirm(entry.session(), deadline));
    } catch (LockException e) {
      LossReason reason = entry.hasOwnLease() ? LossReason.EXPIRED : LossReason.SESSION_ENDED;
      failed.put(
          lease,
          Failures.saysLeaseIsGone(e)
              ? new Renewal.Lost(reason, Sessions.ENDED)
              : new Renewal.Failed(e));
    }
  }

  private void check(List<Renewed> renewed, Renewal[] outcomes, Deadline deadline)
      throws InterruptedException {
    Op[] reads = renewed.stream().map(one -> QueueOps.get(one.entry().key())).toArray(Op[]::new);
    TxnResponse answer;
    try {
      answer = requests.askAgain(deadline, client -> client.txn().Then(reads).commit());
    } catch (LockException e) {
      renewed.forEach(one -> outcomes[one.index()] = new Renewal.Failed(e));
      return;
    }
    for (int i = 0; i < reads.length; i++) {
      Renewed one = renewed.get(i);
      outcomes[one.index()] = outcome(one, QueueOps.found(answer, i), answer);
    }
  }

  private Renewal outcome(Renewed one, @Nullable KeyValue key, TxnResponse answer) {
    if (key == null || key.getCreateRevision() != one.entry().revision()) {
      return new Renewal.Lost(LossReason.TAKEN, "its key on etcd was deleted");
    }
    if (key.getLease() != one.entry().lease()) {
      return new Renewal.Lost(LossReason.TAKEN, "the lock was revoked");
    }
    if (!one.confirmation().isProvenBy(answer)) {
      return new Renewal.Failed(
          failures.temporary("the cluster has just changed its leader", null));
    }
    return new Renewal.Renewed(
        one.confirmation().sentAt() + one.grant().validityPerConfirmation().toNanos());
  }
}
