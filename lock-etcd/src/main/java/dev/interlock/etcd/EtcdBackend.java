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
 * <p>A key hangs on a {@link Session}, which lives as long as the client. A claim with a fixed term
 * stands in line like the others, and at its turn moves its key to a lease of its own, which nobody
 * keeps alive. etcd counts whole seconds: a term is rounded up there, and kept exactly here.
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
  private final Duration lookAgain;

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
    this.lookAgain = context.options().lookAgain();
  }

  @Override
  public BackendInfo info() {
    return info;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  Duration lookAgain() {
    return lookAgain;
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
      return new Attempt.Busy(lookAgain);
    }
    Entered entered = enter(claim, deadline);
    if (!entered.outlook().isFirst()) {
      boolean unused = release(claim, deadline);
      return new Attempt.Busy(lookAgain);
    }
    return new Attempt.Granted(grant(entered.ticket(), entered.outlook()));
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    Entered entered = enter(claim, deadline);
    return new EtcdPlace(this, entered.ticket(), entered.outlook());
  }

  private record Entered(Ticket ticket, Outlook outlook) {}

  /** Puts a key in line, and learns in the same transaction who is before it. */
  private Entered enter(Claim claim, Deadline deadline) throws InterruptedException {
    LockKeys keys = LockKeys.of(namespace, claim.name());
    int number = 0;
    while (true) {
      Session session = sessions.lasting(claim.term(), deadline);
      Ticket ticket = session.add(claim, keys, new WakeUp(time), number);
      if (ticket != null) {
        claim.attach(ticket);
        Confirmation confirmation = session.confirmation();
        TxnResponse answer = putOrGone(ticket, deadline);
        if (answer.isSucceeded()) {
          List<KeyValue> last = answer.getGetResponses().get(0).getKvs();
          if (session.placed(ticket, last.get(0).getCreateRevision())) {
            ByteSequence before = last.size() > 1 ? last.get(1).getKey() : null;
            return new Entered(ticket, new Outlook(before, answer, confirmation));
          }
          ticket.gone();
        } else {
          if (Line.found(answer, 1) != null) {
            // Of a lease of ours that has run out, perhaps, and that etcd has yet to end.
            number = ticket.number() + 1;
          }
          refused(ticket, answer, deadline);
        }
      }
      if (deadline.hasPassed()) {
        throw failures.passing("no place in line was had in time", null);
      }
    }
  }

  /** What is refused was not put, and needs no undoing, which would be refused as well. */
  private TxnResponse putOrGone(Ticket ticket, Deadline deadline) throws InterruptedException {
    try {
      return put(ticket, deadline);
    } catch (LockConfigurationException e) {
      ticket.gone();
      throw e;
    }
  }

  private TxnResponse put(Ticket ticket, Deadline deadline) throws InterruptedException {
    Session session = ticket.session();
    long guard = session.guard();
    return requests.ask(
        deadline,
        client ->
            client
                .getKVClient()
                .txn()
                .If(Line.isUnwrittenSince(session.key(), guard), Line.isAbsent(ticket.key()))
                .Then(
                    Line.put(ticket.key(), ticket.value(), session.lease()),
                    Line.lastTwo(ticket.keys()))
                .Else(Line.get(session.key()), Line.get(ticket.key()))
                .commit());
  }

  /** Nothing was put: the session's key is gone, or was written to undo another ticket. */
  private void refused(Ticket ticket, TxnResponse answer, Deadline deadline)
      throws InterruptedException {
    Session session = ticket.session();
    KeyValue sessionKey = Line.found(answer, 0);
    ticket.gone();
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
  Outlook look(Ticket ticket) throws InterruptedException {
    if (ticket.session().isOver()) {
      // Its keys may still be there for a while.
      throw failures.passing("the session has ended", null);
    }
    Confirmation confirmation = ticket.session().confirmation();
    TxnResponse answer =
        requests.askAgain(
            Deadline.in(time, requestTimeout),
            client ->
                client
                    .getKVClient()
                    .txn()
                    .Then(
                        Line.get(ticket.key()), Line.predecessor(ticket.keys(), ticket.revision()))
                    .commit());
    KeyValue own = Line.found(answer, 0);
    if (own == null || own.getCreateRevision() != ticket.revision()) {
      throw failures.passing("the place in line is gone: deleted, or its session has ended", null);
    }
    if (own.getLease() != ticket.lease()) {
      throw failures.passing("the place in line was revoked", null);
    }
    KeyValue before = Line.found(answer, 1);
    return new Outlook(before == null ? null : before.getKey(), answer, confirmation);
  }

  /** Grants the lock to the first in line. */
  Grant grant(Ticket ticket, Outlook outlook) throws InterruptedException {
    return ticket.claim().autoRenew() ? grantOnSession(ticket, outlook) : grantForTerm(ticket);
  }

  private Grant grantOnSession(Ticket ticket, Outlook seen) throws InterruptedException {
    Session session = ticket.session();
    Duration certainFor = Confirmation.certainFor(session.timeToLive());
    Deadline deadline = Deadline.in(time, requestTimeout);
    Outlook outlook = seen;
    while (!outlook.isProved() || isOld(outlook.confirmation(), certainFor)) {
      if (deadline.hasPassed()) {
        throw failures.passing("the session was not confirmed in time", null);
      }
      sessions.confirm(session, deadline);
      outlook = look(ticket);
    }
    return Grant.onSession(
        ticket.claim(),
        ticket.revision(),
        outlook.confirmation().sentAt(),
        certainFor,
        session.timeToLive());
  }

  private boolean isOld(Confirmation confirmation, Duration certainFor) {
    return time.nanoTime() - confirmation.sentAt() > certainFor.toNanos() / 3;
  }

  /** Moves the key to a lease of its own, whose term counts from before it is asked for. */
  private Grant grantForTerm(Ticket ticket) throws InterruptedException {
    Duration term = ticket.claim().term();
    Deadline deadline = Deadline.in(time, requestTimeout);
    long sentAt = time.nanoTime();
    LeaseGrantResponse lease =
        requests.ask(
            deadline, client -> client.getLeaseClient().grant(Sessions.wholeSeconds(term)));
    ticket.moveTo(lease.getID());
    TxnResponse moved =
        requests.ask(
            deadline,
            client ->
                client
                    .getKVClient()
                    .txn()
                    .If(Line.isUnwrittenSince(ticket.key(), ticket.revision()))
                    .Then(Line.put(ticket.key(), ticket.value(), lease.getID()))
                    .commit());
    if (!moved.isSucceeded()) {
      throw failures.passing("the place in line was lost or revoked when its turn had come", null);
    }
    Duration kept = Duration.ofSeconds(lease.getTTL());
    Duration most = Confirmation.certainFor(kept);
    Duration certainFor = term.compareTo(most) < 0 ? term : most;
    return new Grant(
        ticket.claim(), ticket.revision(), sentAt + certainFor.toNanos(), kept, certainFor, true);
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
    Ticket ticket = Ticket.of(claim);
    if (ticket == null) {
      return false;
    }
    boolean wasThere = false;
    if (ticket.hasOwnLease() || !ticket.session().isOver()) {
      wasThere = ticket.revision() == 0 ? undo(ticket, deadline) : deleteOrGone(ticket, deadline);
    }
    ticket.gone();
    if (ticket.hasOwnLease()) {
      sessions.revoke(ticket.lease());
    }
    return wasThere;
  }

  /** etcd refuses whoever may not delete a key before it looks whether the key is there. */
  private boolean deleteOrGone(Ticket ticket, Deadline deadline) throws InterruptedException {
    try {
      return delete(ticket, Line.isOf(ticket.key(), ticket.revision()), deadline);
    } catch (LockConfigurationException refusal) {
      if (mayBeThere(ticket, deadline)) {
        throw refusal;
      }
      return false;
    }
  }

  private boolean mayBeThere(Ticket ticket, Deadline deadline) throws InterruptedException {
    List<KeyValue> found;
    try {
      found =
          requests.askAgain(deadline, client -> client.getKVClient().get(ticket.key())).getKvs();
    } catch (LockConfigurationException e) {
      return true;
    }
    for (KeyValue key : found) {
      if (key.getCreateRevision() == ticket.revision()) {
        ticket.seenOn(key.getLease());
        // One that was revoked hangs on the operator's lease, and ends by itself.
        return key.getLease() == ticket.session().lease() || key.getLease() == ticket.lease();
      }
    }
    return false;
  }

  private boolean delete(Ticket ticket, Cmp isThere, Deadline deadline)
      throws InterruptedException {
    return requests
        .ask(
            deadline,
            client ->
                client.getKVClient().txn().If(isThere).Then(Line.delete(ticket.key())).commit())
        .isSucceeded();
  }

  /** Takes a key away that may have been put, or else sees to it that it never will be. */
  private boolean undo(Ticket ticket, Deadline deadline) throws InterruptedException {
    Session session = ticket.session();
    // First without anything to be written, which an etcd that has reached its quota refuses.
    if (delete(ticket, Line.holds(ticket.key(), ticket.value()), deadline)) {
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
                      .If(Line.holds(ticket.key(), ticket.value()))
                      .Then(Line.delete(ticket.key()))
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
    Ticket ticket = Ticket.of(claim);
    // What hung on a session that was over a term ago has ended, and so has a lease of its own.
    if (ticket == null || ticket.session().isOver() || ticket.hasLeftSession()) {
      return false;
    }
    sessions.giveUp(
        ticket.session(), "etcd refuses to delete " + ticket.key() + ": " + refusal.getMessage());
    return true;
  }

  @Override
  public void forget(Claim claim) {
    Ticket ticket = Ticket.of(claim);
    if (ticket != null) {
      ticket.gone();
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
