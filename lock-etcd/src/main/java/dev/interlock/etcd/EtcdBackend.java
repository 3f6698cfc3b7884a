package dev.interlock.etcd;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.etcd.JoinedTransactions.Answer;
import dev.interlock.etcd.JoinedTransactions.Transaction;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Keeps each lock as a queue of keys, in the order of their creation revisions. The first key holds
 * the lock, and so does each later key whose share fits beside those of all keys ahead of it.
 *
 * <p>A key is attached to the lease of a {@link Session}. A claim with a fixed TTL queues like the
 * others; when it is granted, its key moves to a lease of its own, which is never kept alive. etcd
 * counts whole seconds, so it gets the TTL rounded up, while the client applies the exact TTL.
 *
 * <p>Only a confirmation by a majority counts: an answer of the leader alone needs a {@linkplain
 * Confirmation proof}. jetcd's own lock is not used, because each of its attempts waits, a
 * cancellation does not reach the server, and an attempt that has timed out acquires the lock
 * later.
 */
final class EtcdBackend implements QueueingBackend {

  private static final long LATEST_REVISION = 0;

  private final BackendInfo info;
  private final String namespace;
  private final Clients clients;
  private final Requests requests;
  private final Failures failures;
  private final Sessions sessions;
  private final JoinedTransactions joined;
  private final KeyRenewal renewal;
  private final Administration administration;
  private final TimeSource time;
  private final LockOptions options;

  EtcdBackend(
      BackendInfo info,
      EtcdSettings settings,
      Clients clients,
      Failures failures,
      BackendContext context) {
    this.info = info;
    this.namespace = settings.namespace();
    this.clients = clients;
    this.failures = failures;
    this.time = context.time();
    this.requests = new Requests(clients, failures, time);
    this.joined = new JoinedTransactions(requests.delayedTasks());
    this.sessions = new Sessions(namespace, requests, failures, context);
    this.renewal = new KeyRenewal(requests, failures, sessions);
    this.administration = new Administration(namespace, requests, failures);
    this.options = context.options();
  }

  @Override
  public BackendInfo info() {
    return info;
  }

  @Override
  public String endpoint() {
    return failures.endpoint();
  }

  LockOptions options() {
    return options;
  }

  TimeSource time() {
    return time;
  }

  // --- entering the queue ---------------------------------------------------------------------

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    Share share = claim.share();
    LockKeys keys = LockKeys.of(namespace, claim.name());
    // A busy lock costs a read, but no write that every member would have to store.
    GetResponse found =
        requests.askAgain(
            deadline, client -> client.get(keys.prefix(), QueueOps.inTheWayOf(keys, share)));
    EntriesAhead ahead = EntriesAhead.of(share, keys, found.getKvs(), Long.MAX_VALUE);
    if (!ahead.leaveRoom()) {
      if (ahead.disagree()) {
        requireAgreement(claim, firstOf(keys, LATEST_REVISION, deadline));
      }
      // If there are several entries, any of them may be the holder's.
      boolean isHolder = share.isWhole() && found.getCount() == 1;
      return new Attempt.Busy(
          options.pollInterval(), isHolder ? QueueEntry.label(found.getKvs().get(0)) : null);
    }
    Entered entered = enter(claim, deadline);
    if (!entered.view().holdsName()) {
      release(claim, deadline);
      return new Attempt.Busy(options.pollInterval(), entered.holder());
    }
    return new Attempt.Granted(grant(entered.entry(), entered.view()));
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    Entered entered = enter(claim, deadline);
    return new EtcdWaiter(this, entered.entry(), entered.view(), entered.holder());
  }

  /**
   * A new entry.
   *
   * @param holder the holder's label if only the holder is ahead of the entry; otherwise null
   */
  private record Entered(QueueEntry entry, QueueView view, @Nullable String holder) {}

  /** Puts a key into the queue, and reads the keys ahead of it in the same transaction. */
  private Entered enter(Claim claim, Deadline deadline) throws InterruptedException {
    int number = 0;
    while (true) {
      Session session = sessions.forTtl(claim.ttl(), deadline);
      if (session.isOverdue(time)) {
        // If the server does not answer, the attempt fails here, before it has an entry to undo.
        ensureAlive(session, deadline);
      }
      QueueEntry entry = session.add(claim, new WakeUp(time), number);
      if (entry != null) {
        claim.attach(entry);
        Confirmation confirmation = session.confirmation();
        Answer answer = put(entry, deadline);
        if (answer.isSucceeded()) {
          GetResponse queue = answer.reads().get(0);
          List<KeyValue> found = queue.getKvs();
          if (session.recordCreation(entry, answer.whole().getHeader().getRevision())) {
            QueueView view =
                QueueView.of(entry, found, !queue.isMore(), answer.whole(), confirmation);
            boolean isSecond = claim.share().isWhole() && queue.getCount() == 2;
            String holder = isSecond ? QueueEntry.label(otherThan(entry, found)) : null;
            if (view.isComplete() || !view.ahead().disagree()) {
              requireAgreement(entry, view, deadline);
            } else {
              // The entry that was read may be any one, even one that is about to be removed. Only
              // the predecessor decides.
              view = look(entry, deadline);
            }
            return new Entered(entry, view, holder);
          }
          entry.discard();
        } else {
          if (QueueOps.found(answer.reads(), 1) != null) {
            // The key may exist on a lease of this client that has expired, but that etcd has not
            // ended yet.
            number = entry.number() + 1;
          }
          handleRefusal(entry, answer, deadline);
        }
      }
      if (deadline.hasPassed()) {
        throw failures.temporary("could not enter the lock's queue in time", null);
      }
    }
  }

  /** Confirms the session, or marks it as ended. Fails if the server does not answer. */
  private void ensureAlive(Session session, Deadline deadline) throws InterruptedException {
    try {
      sessions.confirm(session, deadline);
    } catch (LockException e) {
      if (!session.hasEnded()) {
        throw e;
      }
    }
  }

  private static KeyValue otherThan(QueueEntry own, List<KeyValue> two) {
    return two.get(two.get(0).getCreateRevision() == own.revision() ? 1 : 0);
  }

  private Answer put(QueueEntry entry, Deadline deadline) throws InterruptedException {
    Session session = entry.session();
    LockKeys keys = entry.keys();
    ByteSequence key = entry.key();
    Transaction transaction =
        new Transaction(
            List.of(
                QueueOps.hasModRevision(session.key(), session.guard()), QueueOps.isAbsent(key)),
            List.of(
                QueueOps.put(key, entry.value(), session.lease()),
                QueueOps.readWithPut(keys, entry.claim().share())),
            List.of(QueueOps.get(session.key()), QueueOps.get(key)));
    // Other shares read the whole queue, which may be long.
    boolean readsLittle = entry.claim().share().isWhole();
    try {
      return requests.ask(
          deadline,
          client ->
              readsLittle
                  ? joined.enter(client, keys, transaction)
                  : JoinedTransactions.alone(client, transaction));
    } catch (LockConfigurationException e) {
      // The key was not put, so there is nothing to undo, and an undo would be refused as well.
      entry.discard();
      throw e;
    }
  }

  /**
   * Prepares the session for another attempt. No key was put, because the session's key is gone or
   * was written to undo another entry.
   */
  private void handleRefusal(QueueEntry entry, Answer answer, Deadline deadline)
      throws InterruptedException {
    Session session = entry.session();
    KeyValue sessionKey = QueueOps.found(answer.reads(), 0);
    entry.discard();
    if (sessionKey == null) {
      sessions.writeKey(session, deadline);
    } else {
      session.advanceGuard(sessionKey.getModRevision());
    }
  }

  /**
   * Requires that a claim agrees with the first entry in the queue on the kind and capacity of the
   * lock. A later entry does not count: it may itself disagree, and be about to be removed.
   */
  private static void requireAgreement(Claim claim, @Nullable Share first) {
    if (first != null && !first.agreesWith(claim.share())) {
      throw claim.share().disagreement(claim.name(), first);
    }
  }

  /**
   * Removes an entry, and refuses its claim, if the entry disagrees with the one that was first
   * when it was put. So of two entries that disagree, the later one is removed. An entry that stays
   * waits until the entries ahead that disagree are gone.
   */
  private void requireAgreement(QueueEntry entry, QueueView view, Deadline deadline)
      throws InterruptedException {
    if (!view.ahead().disagree() || entry.isAgreed()) {
      return;
    }
    Claim claim = entry.claim();
    Share first = firstWhenPut(entry, deadline);
    try {
      requireAgreement(claim, first);
    } catch (LockConfigurationException disagreement) {
      try {
        release(claim, deadline);
      } catch (LockException e) {
        // The client repeats the release until it succeeds.
        disagreement.addSuppressed(e);
      }
      throw disagreement;
    }
    entry.markAgreed();
  }

  /**
   * Returns the share of the entry that was first when this one was put; null if etcd has compacted
   * that revision. In that case the entry has waited for long, and must not lose its place: if it
   * disagrees after all, it waits until the others are gone.
   */
  private @Nullable Share firstWhenPut(QueueEntry entry, Deadline deadline)
      throws InterruptedException {
    try {
      return firstOf(entry.keys(), entry.revision(), deadline);
    } catch (LockException e) {
      if (!Failures.saysRevisionIsCompacted(e)) {
        throw e;
      }
      return null;
    }
  }

  private @Nullable Share firstOf(LockKeys keys, long revision, Deadline deadline)
      throws InterruptedException {
    List<KeyValue> first =
        requests
            .askAgain(deadline, client -> client.get(keys.prefix(), QueueOps.first(revision)))
            .getKvs();
    return first.isEmpty() ? null : keys.share(first.get(0).getKey());
  }

  // --- waiting --------------------------------------------------------------------------------

  QueueWatch watch(KeyRange range, EntriesAhead ahead, WakeUp wakeUp) {
    Clients.Loan loan = clients.borrow();
    try {
      return new QueueWatch(loan.client(), range, ahead, wakeUp);
    } catch (RuntimeException e) {
      throw failures.explain(e);
    } finally {
      loan.giveBack(false);
    }
  }

  /** Reads an entry and the entries ahead. */
  QueueView look(QueueEntry entry, Deadline deadline) throws InterruptedException {
    Confirmation confirmation = entry.session().confirmation();
    TxnResponse answer =
        read(
            entry, QueueOps.ahead(entry.keys(), entry.claim().share(), entry.revision()), deadline);
    QueueView view =
        QueueView.of(entry, answer.getGetResponses().get(1).getKvs(), true, answer, confirmation);
    requireAgreement(entry, view, deadline);
    return view;
  }

  /**
   * Reads an entry and one of the entries ahead, which costs the server little, however long the
   * queue is. Reads all entries ahead only if that one is gone.
   */
  QueueView lookAtOne(QueueEntry entry, QueueView seen, Deadline deadline)
      throws InterruptedException {
    Confirmation confirmation = entry.session().confirmation();
    ByteSequence ahead = seen.ahead().keys().iterator().next();
    TxnResponse answer = read(entry, QueueOps.get(ahead), deadline);
    KeyValue found = QueueOps.found(answer, 1);
    return found != null && found.getCreateRevision() < entry.revision()
        ? seen.confirmedBy(answer, confirmation)
        : look(entry, deadline);
  }

  /** Reads an entry, which must still be in the queue, together with another operation. */
  private TxnResponse read(QueueEntry entry, Op other, Deadline deadline)
      throws InterruptedException {
    if (entry.session().hasEnded()) {
      // The keys of an ended session may exist for a while.
      throw failures.temporary("the session has ended", null);
    }
    TxnResponse answer =
        requests.askAgain(
            deadline, client -> client.txn().Then(QueueOps.get(entry.key()), other).commit());
    KeyValue own = QueueOps.found(answer, 0);
    if (own == null || own.getCreateRevision() != entry.revision()) {
      throw failures.temporary(
          "the queue entry is gone: it was deleted, or its session has ended", null);
    }
    if (own.getLease() != entry.lease()) {
      throw failures.temporary("the queue entry was revoked", null);
    }
    return answer;
  }

  /** Grants the lock to the entry that holds it on etcd. */
  Grant grant(QueueEntry entry, QueueView view) throws InterruptedException {
    Grant grant = entry.claim().autoRenew() ? grantOnSession(entry, view) : grantForTtl(entry);
    entry.stopWaking();
    return grant;
  }

  private Grant grantOnSession(QueueEntry entry, QueueView seen) throws InterruptedException {
    Session session = entry.session();
    Duration validityPerConfirmation = session.validityPerConfirmation();
    Deadline deadline = Deadline.in(time, options.requestTimeout());
    QueueView view = seen;
    while (!view.isProven() || isOld(view.confirmation(), validityPerConfirmation)) {
      if (deadline.hasPassed()) {
        throw failures.temporary("the session was not confirmed in time", new TimeoutException());
      }
      sessions.confirm(session, deadline);
      view = look(entry, deadline);
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

  /** Moves the key to a lease of its own. Its TTL counts from before the request. */
  private Grant grantForTtl(QueueEntry entry) throws InterruptedException {
    Duration ttl = entry.claim().ttl();
    Deadline deadline = Deadline.in(time, options.requestTimeout());
    long sentAt = time.nanoTime();
    LeaseGrantResponse lease =
        requests.ask(deadline, client -> client.grant(Sessions.wholeSeconds(ttl)));
    entry.moveTo(lease.getID());
    TxnResponse moved =
        commit(
            deadline,
            QueueOps.hasModRevision(entry.key(), entry.revision()),
            QueueOps.put(entry.key(), entry.value(), lease.getID()));
    if (!moved.isSucceeded()) {
      throw failures.temporary(
          "the queue entry was deleted or revoked before the lock was granted", null);
    }
    Duration ttlOnEtcd = Duration.ofSeconds(lease.getTTL());
    Duration maxValidity = Confirmation.validityPerConfirmation(ttlOnEtcd);
    Duration validityPerConfirmation = ttl.compareTo(maxValidity) < 0 ? ttl : maxValidity;
    return new Grant(
        entry.claim(),
        entry.revision(),
        sentAt + validityPerConfirmation.toNanos(),
        ttlOnEtcd,
        validityPerConfirmation,
        true);
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    return renewal.renewAll(grants, deadline);
  }

  // --- releasing ------------------------------------------------------------------------------

  @Override
  @CanIgnoreReturnValue
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    QueueEntry entry = QueueEntry.of(claim);
    if (entry == null) {
      return false;
    }
    boolean existed = false;
    if (entry.hasOwnLease() || !entry.session().hasEnded()) {
      existed = entry.revision() == 0 ? undo(entry, deadline) : deleteIfThere(entry, deadline);
    }
    entry.discard();
    if (entry.hasOwnLease()) {
      sessions.revoke(entry.lease());
    }
    return existed;
  }

  /**
   * Deletes the key if it exists. etcd checks the permission first, so a refusal does not show
   * whether the key exists.
   */
  private boolean deleteIfThere(QueueEntry entry, Deadline deadline) throws InterruptedException {
    try {
      ByteSequence key = entry.key();
      Transaction transaction =
          new Transaction(
              List.of(QueueOps.hasCreateRevision(key, entry.revision())),
              List.of(QueueOps.delete(key)),
              List.of());
      return requests
          .ask(deadline, client -> joined.leave(client, entry, transaction))
          .isSucceeded();
    } catch (LockConfigurationException refusal) {
      if (mayStay(entry, deadline)) {
        throw refusal;
      }
      return false;
    }
  }

  /** Returns whether the key may stay as long as this client keeps its session alive. */
  private boolean mayStay(QueueEntry entry, Deadline deadline) throws InterruptedException {
    List<KeyValue> found;
    try {
      found =
          requests
              .askAgain(deadline, client -> client.get(entry.key(), GetOption.DEFAULT))
              .getKvs();
    } catch (LockConfigurationException e) {
      return true;
    }
    for (KeyValue key : found) {
      if (key.getCreateRevision() == entry.revision()) {
        entry.recordLease(key.getLease());
        // A revoked key is on the operator's lease, and ends with it.
        return key.getLease() == entry.session().lease() || key.getLease() == entry.lease();
      }
    }
    return false;
  }

  private TxnResponse commit(Deadline deadline, Cmp condition, Op then, Op... otherwise)
      throws InterruptedException {
    return requests.ask(
        deadline, client -> client.txn().If(condition).Then(then).Else(otherwise).commit());
  }

  /**
   * Deletes a key that may have been put. If it is missing, makes sure that it never will be put.
   */
  private boolean undo(QueueEntry entry, Deadline deadline) throws InterruptedException {
    Session session = entry.session();
    Cmp isThere = QueueOps.hasValue(entry.key(), entry.value());
    Op delete = QueueOps.delete(entry.key());
    // First without a put, because an etcd that has reached its quota refuses puts.
    if (commit(deadline, isThere, delete).isSucceeded()) {
      return true;
    }
    TxnResponse answer;
    try {
      answer =
          commit(
              deadline,
              isThere,
              delete,
              QueueOps.put(session.key(), StoredFormat.MARK, session.lease()));
    } catch (LockUnavailableException e) {
      if (!Failures.saysLeaseIsGone(e)) {
        throw e;
      }
      sessions.end(session, Sessions.ENDED);
      return false;
    }
    if (!answer.isSucceeded()) {
      session.advanceGuard(answer.getHeader().getRevision());
    }
    return answer.isSucceeded();
  }

  /**
   * Ends the session. Its lease is no longer kept alive, so the lease ends even if the user may not
   * revoke it.
   */
  @Override
  public boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    QueueEntry entry = QueueEntry.of(claim);
    // etcd has refused for a TTL, so the keys of an ended session are gone by now, and so is a key
    // on its own lease.
    if (entry == null || entry.session().hasEnded() || entry.hasLeftSession()) {
      return false;
    }
    sessions.endEarly(
        entry.session(), "etcd refuses to delete " + entry.key() + ": " + refusal.getMessage());
    return true;
  }

  @Override
  public void forget(Claim claim) {
    QueueEntry entry = QueueEntry.of(claim);
    if (entry != null) {
      entry.discard();
    }
  }

  // --- operators ------------------------------------------------------------------------------

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return administration.inspect(name, deadline);
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    return administration.list(prefix, cursor, limit, deadline);
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
    requests.close();
  }
}
