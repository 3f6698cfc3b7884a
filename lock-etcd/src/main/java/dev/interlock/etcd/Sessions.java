package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client, one for each TTL in whole seconds. A session begins when it is first
 * needed, is kept alive while it has queue entries, and ends when it has been unused for a while.
 */
final class Sessions implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  // Keeps the remaining validity of a session's last confirmation above two thirds.
  private static final int KEEP_ALIVES_PER_TTL = 4;
  private static final int RETRIES_PER_TTL = 12;
  static final String ENDED = "its lease on etcd has ended";

  private final String namespace;
  private final StoredFormat format;
  private final Requests requests;
  private final Failures failures;
  private final BackendContext context;
  private final Duration requestTimeout;
  private final ConcurrentHashMap<Long, CompletableFuture<Session>> sessions =
      new ConcurrentHashMap<>();

  /** The pending revocations by lease, which the client awaits when it is closed. */
  private final ConcurrentHashMap<Long, CompletableFuture<?>> revocations =
      new ConcurrentHashMap<>();

  @GuardedBy("this")
  private boolean closed;

  Sessions(String namespace, Requests requests, Failures failures, BackendContext context) {
    this.namespace = namespace;
    this.format = new StoredFormat(namespace);
    this.requests = requests;
    this.failures = failures;
    this.context = context;
    this.requestTimeout = context.options().requestTimeout();
  }

  /** Rounds a TTL up to the whole seconds that etcd counts. */
  static long wholeSeconds(Duration ttl) {
    return Math.max(EtcdTopology.MIN_TTL.toSeconds(), ttl.plusNanos(999_999_999).toSeconds());
  }

  /** Returns a session that lasts at least for the TTL. Concurrent callers share one. */
  Session forTtl(Duration ttl, Deadline deadline) throws InterruptedException {
    try {
      return requests.await(lastOrNew(wholeSeconds(ttl)), deadline);
    } catch (TimeoutException | ExecutionException e) {
      throw failures.explain(e);
    }
  }

  private synchronized CompletableFuture<Session> lastOrNew(long seconds) {
    CompletableFuture<Session> session = sessions.get(seconds);
    if (closed) {
      throw failures.temporary("the lock client is closed", null);
    }
    if (session == null || hasEnded(session)) {
      session = begin(seconds);
      sessions.put(seconds, session);
    }
    return session;
  }

  private static boolean hasEnded(CompletableFuture<Session> session) {
    return session.isCompletedExceptionally() || (session.isDone() && session.join().hasEnded());
  }

  private CompletableFuture<Session> begin(long seconds) {
    long sentAt = time().nanoTime();
    return requests
        .send(requestTimeout, client -> client.grant(seconds))
        .thenCompose(
            grant -> {
              long lease = grant.getID();
              ByteSequence key = LockKeys.session(namespace, lease);
              return requests
                  .send(requestTimeout, client -> putKey(client, key, lease))
                  .thenApply(
                      put ->
                          new Session(
                              namespace,
                              lease,
                              Duration.ofSeconds(grant.getTTL()),
                              revisionOf(put),
                              new Confirmation(sentAt, Confirmation.BY_CONSENSUS)))
                  .whenComplete(
                      (session, failure) -> {
                        if (failure == null) {
                          schedule(session, KEEP_ALIVES_PER_TTL);
                        } else {
                          revoke(lease);
                        }
                      });
            });
  }

  /** Puts a session's key, unless the locks are stored in an unknown format. */
  private CompletableFuture<TxnResponse> putKey(EtcdClient client, ByteSequence key, long lease) {
    return client
        .txn()
        .If(format.isKnown())
        .Then(QueueOps.put(key, StoredFormat.MARK, lease))
        .Else(format.read())
        .commit();
  }

  private long revisionOf(TxnResponse put) {
    if (!put.isSucceeded()) {
      format.requireKnown(put, 0, failures);
    }
    return put.getHeader().getRevision();
  }

  /** Writes a session's key again after it was deleted. The other keys on its lease stay. */
  void writeKey(Session session, Deadline deadline) throws InterruptedException {
    try {
      session.advanceGuard(
          revisionOf(
              requests.ask(deadline, client -> putKey(client, session.key(), session.lease()))));
    } catch (LockException e) {
      if (!Failures.saysLeaseIsGone(e)) {
        throw e;
      }
      end(session, ENDED);
    }
  }

  /** Keeps a session's lease alive; retries until the deadline. */
  Confirmation confirm(Session session, Deadline deadline) throws InterruptedException {
    try {
      Confirmation confirmation = confirm(session.lease(), deadline);
      session.recordConfirmation(confirmation);
      return confirmation;
    } catch (LockException e) {
      if (Failures.saysLeaseIsGone(e)) {
        end(session, ENDED);
      }
      throw e;
    }
  }

  /** Keeps any lease alive; retries until the deadline. */
  Confirmation confirm(long lease, Deadline deadline) throws InterruptedException {
    long sentAt = time().nanoTime();
    LeaseKeepAliveResponse answer =
        requests.askAgain(deadline, client -> client.keepAliveOnce(lease));
    return new Confirmation(sentAt, answer.getHeader().getRaftTerm());
  }

  private void schedule(Session session, int timesPerTtl) {
    requests
        .delayedTasks()
        .run(() -> keepAlive(session), session.timeToLive().dividedBy(timesPerTtl));
  }

  private void keepAlive(Session session) {
    if (session.hasEnded()) {
      return;
    }
    if (session.endIfIdle()) {
      removeEnded();
      revoke(session.lease());
      return;
    }
    long sentAt = time().nanoTime();
    Duration limit = session.timeToLive().dividedBy(KEEP_ALIVES_PER_TTL);
    var unused =
        requests
            .send(
                limit.compareTo(requestTimeout) < 0 ? limit : requestTimeout,
                client -> client.keepAliveOnce(session.lease()))
            .whenComplete(
                (answer, failure) -> {
                  if (answer != null) {
                    session.recordConfirmation(
                        new Confirmation(sentAt, answer.getHeader().getRaftTerm()));
                  } else if (Failures.saysLeaseIsGone(failure)) {
                    end(session, ENDED);
                    return;
                  }
                  schedule(session, failure == null ? KEEP_ALIVES_PER_TTL : RETRIES_PER_TTL);
                });
  }

  /**
   * Ends a session early, because a key on it cannot be deleted in another way. All grants on the
   * session are lost.
   *
   * @param why the reason, for the log and for the holders of the lost leases
   */
  void endEarly(Session session, String why) {
    log.warn("{}; ending the session instead, so all leases on it are lost", why);
    end(session, "it was ended: " + why);
    revoke(session.lease());
  }

  private void removeEnded() {
    sessions.values().removeIf(Sessions::hasEnded);
  }

  /** Records that a session's lease has ended, with every key on it. */
  void end(Session session, String reason) {
    List<QueueEntry> ended = session.end();
    removeEnded();
    for (QueueEntry entry : ended) {
      if (!entry.hasOwnLease()) {
        context.reportLoss(entry.claim(), LossReason.SESSION_ENDED, reason);
      }
      entry.wake();
    }
  }

  /** Revokes a lease in the background. If that fails, the lease expires. */
  void revoke(long lease) {
    CompletableFuture<?> end = requests.send(requestTimeout, client -> client.revoke(lease));
    revocations.put(lease, end);
    var unused =
        end.whenComplete(
            (answer, failure) -> {
              if (failure != null) {
                log.debug(
                    "could not revoke lease {}; it will expire", Long.toHexString(lease), failure);
              }
              revocations.remove(lease, end);
            });
  }

  private TimeSource time() {
    return context.time();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    for (CompletableFuture<Session> session : sessions.values()) {
      // A session that is just beginning ends as soon as it has begun.
      var unused =
          session.thenAccept(
              begun -> {
                begun.end();
                revoke(begun.lease());
              });
    }
    try {
      requests.await(
          CompletableFuture.allOf(revocations.values().toArray(new CompletableFuture<?>[0])),
          Deadline.in(time(), requestTimeout));
    } catch (ExecutionException | TimeoutException e) {
      log.debug("the client was closed before all leases were revoked; the others will expire", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
