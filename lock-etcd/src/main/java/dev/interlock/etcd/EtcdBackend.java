package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.op.Cmp;
import java.time.Duration;
import java.util.List;

/**
 * Locks as lines of keys, in the order of their creation revisions; who is first holds the lock.
 *
 * <p>A key hangs on a {@link Session}, which lives as long as the client. A claim with a fixed TTL
 * stands in line like the others, and at its turn moves its key to a lease of its own, which nobody
 * keeps alive. etcd counts whole seconds: a TTL is rounded up there, and kept exactly here.
 *
 * <p>What is certain is what a majority has said: an answer of the leader alone counts only with a
 * {@linkplain Confirmation proof}. jetcd's own lock is not used: it has no attempt that does not
 * wait, cancelling it does not reach the server, and one that has timed out wins later.
 */
final class EtcdBackend implements QueueingBackend {

  private final BackendInfo info;
  private final String endpoint;
  private final String namespace;
  private final Clients clients;
  private final Requests requests;
  private final Failures failures;
  private final Sessions sessions;
  private final KeyRenewal renewal;
  private final Administration administration;
  private final TimeSource time;
  private final Duration requestTimeout;
  private final Duration pollInterval;

  EtcdBackend(
      EtcdTopology cluster,
      String endpoint,
      EtcdSettings settings,
      Clients clients,
      Failures failures,
      BackendContext context) {
    this.info = cluster.info();
    this.endpoint = endpoint;
    this.namespace = settings.namespace();
    this.clients = clients;
    this.failures = failures;
    this.time = context.time();
    this.requests = new Requests(clients, failures, time);
    this.sessions = new Sessions(namespace, requests, failures, context);
    this.renewal = new KeyRenewal(requests, failures, sessions);
    this.administration = new Administration(namespace, requests, failures);
    this.requestTimeout = context.options().requestTimeout();
    this.pollInterval = context.options().pollInterval();
  }

  @Override
  public BackendInfo info() {
    return info;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  Duration pollInterval() {
    return pollInterval;
  }

  // --- getting in line ------------------------------------------------------------------------

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    ByteSequence line = LockKeys.of(namespace, claim.name()).prefix();
    // A busy lock costs a read, and no write that every member would have to store.
    boolean busy =
        !requests
            .askAgain(deadline, client -> client.getKVClient().get(line, Line.anybody()))
            .getKvs()
            .isEmpty();
    if (busy) {
      return new Attempt.Busy(pollInterval);
    }
    Entered entered = enter(claim, deadline);
    if (!entered.view().isFirst()) {
      boolean unused = release(claim, deadline);
      return new Attempt.Busy(pollInterval);
    }
    return new Attempt.Granted(grant(entered.entry(), entered.view()));
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    Entered entered = enter(claim, deadline);
    return new EtcdPlace(this, entered.entry(), entered.view());
  }

  private record Entered(QueueEntry entry, QueueView view) {}

  /** Puts a key in line, and learns in the same transaction who is before it. */
  private Entered enter(Claim claim, Deadline deadline) throws InterruptedException {
    LockKeys keys = LockKeys.of(namespace, claim.name());
    int number = 0;
    while (true) {
      Session session = sessions.lasting(claim.ttl(), deadline);
      QueueEntry entry = session.add(claim, keys, new WakeUp(time), number);
      if (entry != null) {
        claim.attach(entry);
        Confirmation confirmation = session.confirmation();
        TxnResponse answer = putOrGone(entry, deadline);
        if (answer.isSucceeded()) {
          List<KeyValue> last = answer.getGetResponses().get(0).getKvs();
          if (session.placed(entry, last.get(0).getCreateRevision())) {
            ByteSequence before = last.size() > 1 ? last.get(1).getKey() : null;
            return new Entered(entry, new QueueView(before, answer, confirmation));
          }
          entry.gone();
        } else {
          if (Line.found(answer, 1) != null) {
            // Of a lease of ours that has run out, perhaps, and that etcd has yet to end.
            number = entry.number() + 1;
          }
          refused(entry, answer, deadline);
        }
      }
      if (deadline.hasPassed()) {
        throw failures.passing("no place in line was had in time", null);
      }
    }
  }

  /** What is refused was not put, and needs no undoing, which would be refused as well. */
  private TxnResponse putOrGone(QueueEntry entry, Deadline deadline) throws InterruptedException {
    try {
      return put(entry, deadline);
    } catch (LockConfigurationException e) {
      entry.gone();
      throw e;
    }
  }

  private TxnResponse put(QueueEntry entry, Deadline deadline) throws InterruptedException {
    Session session = entry.session();
    long guard = session.guard();
    return requests.ask(
        deadline,
        client ->
            client
                .getKVClient()
                .txn()
                .If(Line.isUnwrittenSince(session.key(), guard), Line.isAbsent(entry.key()))
                .Then(
                    Line.put(entry.key(), entry.value(), session.lease()),
                    Line.lastTwo(entry.keys()))
                .Else(Line.get(session.key()), Line.get(entry.key()))
                .commit());
  }

  /** Nothing was put: the session's key is gone, or was written to undo another queue entry. */
  private void refused(QueueEntry entry, TxnResponse answer, Deadline deadline)
      throws InterruptedException {
    Session session = entry.session();
    KeyValue sessionKey = Line.found(answer, 0);
    entry.gone();
    if (sessionKey == null) {
      sessions.writeKey(session, deadline);
    } else {
      session.guardMoved(sessionKey.getModRevision());
    }
  }

  // --- waiting --------------------------------------------------------------------------------

  PredecessorWatch watch(ByteSequence key, WakeUp wakeUp) {
    Clients.Loan loan = clients.borrow();
    try {
      return new PredecessorWatch(loan.client(), key, wakeUp);
    } catch (RuntimeException e) {
      throw failures.explain(e);
    } finally {
      loan.giveBack(false);
    }
  }

  /** Looks whether a key is still in line, and who is before it. */
  QueueView look(QueueEntry entry) throws InterruptedException {
    if (entry.session().isOver()) {
      // Its keys may still be there for a while.
      throw failures.passing("the session has ended", null);
    }
    Confirmation confirmation = entry.session().confirmation();
    TxnResponse answer =
        requests.askAgain(
            Deadline.in(time, requestTimeout),
            client ->
                client
                    .getKVClient()
                    .txn()
                    .Then(Line.get(entry.key()), Line.predecessor(entry.keys(), entry.revision()))
                    .commit());
    KeyValue own = Line.found(answer, 0);
    if (own == null || own.getCreateRevision() != entry.revision()) {
      throw failures.passing("the place in line is gone: deleted, or its session has ended", null);
    }
    if (own.getLease() != entry.lease()) {
      throw failures.passing("the place in line was revoked", null);
    }
    KeyValue before = Line.found(answer, 1);
    return new QueueView(before == null ? null : before.getKey(), answer, confirmation);
  }

  /** Grants the lock to the first in line. */
  Grant grant(QueueEntry entry, QueueView view) throws InterruptedException {
    return entry.claim().autoRenew() ? grantOnSession(entry, view) : grantForTtl(entry);
  }

  private Grant grantOnSession(QueueEntry entry, QueueView seen) throws InterruptedException {
    Session session = entry.session();
    Duration validityPerConfirmation = Confirmation.validityPerConfirmation(session.timeToLive());
    Deadline deadline = Deadline.in(time, requestTimeout);
    QueueView view = seen;
    while (!view.isProved() || isOld(view.confirmation(), validityPerConfirmation)) {
      if (deadline.hasPassed()) {
        throw failures.passing("the session was not confirmed in time", null);
      }
      sessions.confirm(session, deadline);
      view = look(entry);
    }
    return Grant.onSession(
        entry.claim(),
        entry.revision(),
        view.confirmation().sentAt(),
        validityPerConfirmation,
        session.timeToLive());
  }

  private boolean isOld(Confirmation confirmation, Duration validityPerConfirmation) {
    return time.nanoTime() - confirmation.sentAt() > validityPerConfirmation.toNanos() / 3;
  }

  /** Moves the key to a lease of its own, whose TTL counts from before it is asked for. */
  private Grant grantForTtl(QueueEntry entry) throws InterruptedException {
    Duration ttl = entry.claim().ttl();
    Deadline deadline = Deadline.in(time, requestTimeout);
    long sentAt = time.nanoTime();
    LeaseGrantResponse lease =
        requests.ask(deadline, client -> client.getLeaseClient().grant(Sessions.wholeSeconds(ttl)));
    entry.moveTo(lease.getID());
    TxnResponse moved =
        requests.ask(
            deadline,
            client ->
                client
                    .getKVClient()
                    .txn()
                    .If(Line.isUnwrittenSince(entry.key(), entry.revision()))
                    .Then(Line.put(entry.key(), entry.value(), lease.getID()))
                    .commit());
    if (!moved.isSucceeded()) {
      throw failures.passing("the place in line was lost or revoked when its turn had come", null);
    }
    Duration kept = Duration.ofSeconds(lease.getTTL());
    Duration most = Confirmation.validityPerConfirmation(kept);
    Duration validityPerConfirmation = ttl.compareTo(most) < 0 ? ttl : most;
    return new Grant(
        entry.claim(),
        entry.revision(),
        sentAt + validityPerConfirmation.toNanos(),
        kept,
        validityPerConfirmation,
        true);
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    return renewal.renewAll(grants, deadline);
  }

  // --- leaving --------------------------------------------------------------------------------

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    QueueEntry entry = QueueEntry.of(claim);
    if (entry == null) {
      return false;
    }
    boolean wasThere = false;
    if (entry.hasOwnLease() || !entry.session().isOver()) {
      wasThere = entry.revision() == 0 ? undo(entry, deadline) : deleteOrGone(entry, deadline);
    }
    entry.gone();
    if (entry.hasOwnLease()) {
      sessions.revoke(entry.lease());
    }
    return wasThere;
  }

  /** etcd refuses whoever may not delete a key before it looks whether the key is there. */
  private boolean deleteOrGone(QueueEntry entry, Deadline deadline) throws InterruptedException {
    try {
      return delete(entry, Line.isOf(entry.key(), entry.revision()), deadline);
    } catch (LockConfigurationException refusal) {
      if (mayBeThere(entry, deadline)) {
        throw refusal;
      }
      return false;
    }
  }

  private boolean mayBeThere(QueueEntry entry, Deadline deadline) throws InterruptedException {
    List<KeyValue> found;
    try {
      found = requests.askAgain(deadline, client -> client.getKVClient().get(entry.key())).getKvs();
    } catch (LockConfigurationException e) {
      return true;
    }
    for (KeyValue key : found) {
      if (key.getCreateRevision() == entry.revision()) {
        entry.seenOn(key.getLease());
        // One that was revoked hangs on the operator's lease, and ends by itself.
        return key.getLease() == entry.session().lease() || key.getLease() == entry.lease();
      }
    }
    return false;
  }

  private boolean delete(QueueEntry entry, Cmp isThere, Deadline deadline)
      throws InterruptedException {
    return requests
        .ask(
            deadline,
            client ->
                client.getKVClient().txn().If(isThere).Then(Line.delete(entry.key())).commit())
        .isSucceeded();
  }

  /** Takes a key away that may have been put, or else sees to it that it never will be. */
  private boolean undo(QueueEntry entry, Deadline deadline) throws InterruptedException {
    Session session = entry.session();
    // First without anything to be written, which an etcd that has reached its quota refuses.
    if (delete(entry, Line.holds(entry.key(), entry.value()), deadline)) {
      return true;
    }
    TxnResponse answer;
    try {
      answer =
          requests.ask(
              deadline,
              client ->
                  client
                      .getKVClient()
                      .txn()
                      .If(Line.holds(entry.key(), entry.value()))
                      .Then(Line.delete(entry.key()))
                      .Else(Line.put(session.key(), ByteSequence.EMPTY, session.lease()))
                      .commit());
    } catch (LockUnavailableException e) {
      if (!Failures.saysLeaseIsGone(e)) {
        throw e;
      }
      sessions.over(session, Sessions.ENDED);
      return false;
    }
    if (!answer.isSucceeded()) {
      session.guardMoved(answer.getHeader().getRevision());
    }
    return answer.isSucceeded();
  }

  /** Nobody keeps a lease of etcd's alive then, and it ends though it may not be revoked. */
  @Override
  public boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    QueueEntry entry = QueueEntry.of(claim);
    // What hung on a session that was over a TTL ago has ended, and so has a lease of its own.
    if (entry == null || entry.session().isOver() || entry.hasLeftSession()) {
      return false;
    }
    sessions.giveUp(
        entry.session(), "etcd refuses to delete " + entry.key() + ": " + refusal.getMessage());
    return true;
  }

  @Override
  public void forget(Claim claim) {
    QueueEntry entry = QueueEntry.of(claim);
    if (entry != null) {
      entry.gone();
    }
  }

  // --- looking and intervening ----------------------------------------------------------------

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return administration.inspect(name, deadline);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return administration.forceRelease(name, deadline);
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return administration.revoke(name, deadline);
  }

  @Override
  public void close() {
    sessions.close();
    clients.close();
  }
}
