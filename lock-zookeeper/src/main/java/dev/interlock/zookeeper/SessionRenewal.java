package dev.interlock.zookeeper;

import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants of one session by a committed transaction, which confirms the session and finds the
 * deleted nodes. The constructor sends the transaction.
 */
final class SessionRenewal {

  private final ZooKeeperBackend backend;
  private final Session session;
  private final Map<Grant, Renewal> outcomes = new HashMap<>();
  private List<Grant> pending;
  private long sentAt;
  private @Nullable ReplyFuture<List<Integer>> reply;

  SessionRenewal(ZooKeeperBackend backend, Session session, List<Grant> grants) {
    this.backend = backend;
    this.session = session;
    this.pending = grants;
    try {
      if (session.sessions().current() == session) {
        reply = send();
      } else {
        completeAll(new Renewal.Lost(LossReason.SESSION_ENDED, "the session has ended"));
      }
    } catch (LockException e) {
      completeAll(new Renewal.Failed(e));
    }
  }

  private ReplyFuture<List<Integer>> send() {
    sentAt = backend.time().nanoTime();
    return session.check(
        pending.stream().map(grant -> ZooKeeperBackend.node(grant).path()).toList());
  }

  /** Waits for the outcome of each grant. */
  Map<Grant, Renewal> await(Deadline deadline) throws InterruptedException {
    try {
      while (!pending.isEmpty()) {
        ReplyFuture<List<Integer>> current = reply == null ? send() : reply;
        reply = null;
        complete(current.await(deadline), deadline);
      }
    } catch (KeeperException e) {
      completeAll(new Renewal.Failed(backend.failures().explain(e)));
    } catch (LockException e) {
      completeAll(new Renewal.Failed(e));
    }
    return outcomes;
  }

  private void complete(List<Integer> codes, Deadline deadline) throws InterruptedException {
    List<Grant> remaining = new ArrayList<>();
    for (int i = 0; i < codes.size(); i++) {
      Grant grant = pending.get(i);
      if (codes.get(i) == Code.NONODE.intValue()) {
        session.forgetNode(grant.claim());
        complete(grant, new Renewal.Lost(LossReason.TAKEN, "its node was deleted"));
      } else {
        remaining.add(grant);
      }
    }
    boolean allExist = remaining.size() == pending.size();
    pending = remaining;
    if (!allExist) {
      return;
    }
    long validUntil = session.certainty().confirm(sentAt);
    if (session.hasEnded()) {
      throw backend.failures().sessionEnded();
    }
    if (validUntil - backend.time().nanoTime() > 0) {
      // After a fault this may be shorter than the usual validity; the engine soon asks again.
      completeAll(new Renewal.Renewed(validUntil));
    } else if (!session.awaitLeaderContact(new WakeUp(backend.time()), deadline)) {
      throw backend.failures().noLeaderContact(null);
    }
  }

  private void completeAll(Renewal outcome) {
    pending.forEach(grant -> complete(grant, outcome));
    pending = List.of();
  }

  private void complete(Grant grant, Renewal outcome) {
    if (outcome instanceof Renewal.Lost) {
      session.removeGrant(grant.claim());
    }
    outcomes.put(grant, outcome);
  }
}
