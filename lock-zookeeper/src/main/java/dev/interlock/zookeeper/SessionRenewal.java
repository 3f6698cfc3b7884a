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
 * deleted nodes. The transaction is sent at once.
 */
final class SessionRenewal {

  private final ZooKeeperBackend backend;
  private final Session session;
  private final Map<Grant, Renewal> outcomes = new HashMap<>();
  private List<Grant> open;
  private long sentAt;
  private @Nullable ReplyFuture<List<Integer>> reply;

  SessionRenewal(ZooKeeperBackend backend, Session session, List<Grant> grants) {
    this.backend = backend;
    this.session = session;
    this.open = grants;
    try {
      if (session.succession().current() == session) {
        reply = send();
      } else {
        endAll(new Renewal.Gone(LossReason.SESSION_ENDED, "the session has ended"));
      }
    } catch (LockException e) {
      endAll(new Renewal.Failed(e));
    }
  }

  private ReplyFuture<List<Integer>> send() {
    sentAt = backend.time().nanoTime();
    return session.check(open.stream().map(grant -> ZooKeeperBackend.node(grant).path()).toList());
  }

  /** Waits for the outcome of each grant. */
  Map<Grant, Renewal> await(Deadline deadline) throws InterruptedException {
    try {
      while (!open.isEmpty()) {
        ReplyFuture<List<Integer>> last = reply == null ? send() : reply;
        reply = null;
        take(last.await(deadline), deadline);
      }
    } catch (KeeperException e) {
      endAll(new Renewal.Failed(backend.failures().explain(e)));
    } catch (LockException e) {
      endAll(new Renewal.Failed(e));
    }
    return outcomes;
  }

  private void take(List<Integer> codes, Deadline deadline) throws InterruptedException {
    List<Grant> left = new ArrayList<>();
    for (int i = 0; i < codes.size(); i++) {
      Grant grant = open.get(i);
      if (codes.get(i) == Code.NONODE.intValue()) {
        session.nodeGone(grant.claim());
        end(grant, new Renewal.Gone(LossReason.TAKEN, "its node was deleted"));
      } else {
        left.add(grant);
      }
    }
    boolean committed = left.size() == open.size();
    open = left;
    if (!committed) {
      return;
    }
    long validUntil = session.certainty().confirm(sentAt);
    if (session.hasEnded()) {
      throw backend.failures().sessionEnded();
    }
    if (validUntil - backend.time().nanoTime() > 0) {
      // After a fault this may be a part of the usual validity; the engine soon asks again.
      endAll(new Renewal.Renewed(validUntil));
    } else if (!session.awaitLeaderContact(new WakeUp(backend.time()), deadline)) {
      throw backend.failures().noLeaderContact(null);
    }
  }

  private void endAll(Renewal outcome) {
    open.forEach(grant -> end(grant, outcome));
    open = List.of();
  }

  private void end(Grant grant, Renewal outcome) {
    if (outcome instanceof Renewal.Gone) {
      session.drop(grant.claim());
    }
    outcomes.put(grant, outcome);
  }
}
