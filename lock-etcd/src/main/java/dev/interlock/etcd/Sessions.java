package dev.interlock.etcd;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.options.PutOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client: one for each time to live that is asked for, made when it is first
 * wanted, kept alive as long as anybody has a place on it, and given up after a while without.
 */
final class Sessions implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  // So that what a session's last answer is worth never falls below two thirds.
  private static final int SIGNS_OF_LIFE = 4;
  private static final int RETRIES = 12;
  static final String ENDED = "its lease on etcd has ended";

  private final String namespace;
  private final Requests requests;
  private final Failures failures;
  private final BackendContext context;
  private final Duration requestTimeout;
  private final ConcurrentHashMap<Long, CompletableFuture<Session>> sessions =
      new ConcurrentHashMap<>();

  /** By their leases: under way, and awaited when the client is closed. */
  private final ConcurrentHashMap<Long, CompletableFuture<?>> revocations =
      new ConcurrentHashMap<>();

  private final ScheduledThreadPoolExecutor heart;
  private volatile boolean closed;

  Sessions(String namespace, Requests requests, Failures failures, BackendContext context) {
    this.namespace = namespace;
    this.requests = requests;
    this.failures = failures;
    this.context = context;
    this.requestTimeout = context.options().requestTimeout();
    this.heart =
        new ScheduledThreadPoolExecutor(
            1,
            new ThreadFactoryBuilder()
                .setDaemon(true)
                .setNameFormat("interlock-etcd-sessions")
                .build());
    heart.setRemoveOnCancelPolicy(true);
  }

  /** etcd counts whole seconds. */
  static long wholeSeconds(Duration ttl) {
    return Math.max(EtcdTopology.MIN_TTL.toSeconds(), ttl.plusNanos(999_999_999).toSeconds());
  }

  /** Returns a session that lasts for the TTL at least; several callers wait for the same one. */
  Session lasting(Duration ttl, Deadline deadline) throws InterruptedException {
    long seconds = wholeSeconds(ttl);
    CompletableFuture<Session> fresh = new CompletableFuture<>();
    CompletableFuture<Session> session =
        sessions.compute(seconds, (s, known) -> known == null || isSpent(known) ? fresh : known);
    if (session == fresh) {
      begin(seconds, fresh);
    }
    try {
      return requests.await(session, deadline);
    } catch (TimeoutException e) {
      throw failures.passing("no answer in time", e);
    } catch (ExecutionException e) {
      throw failures.explain(e);
    }
  }

  private static boolean isSpent(CompletableFuture<Session> session) {
    return session.isCompletedExceptionally() || (session.isDone() && session.join().isOver());
  }

  private void begin(long seconds, CompletableFuture<Session> result) {
    long sentAt = time().nanoTime();
    var unused =
        requests
            .send(
                requestTimeout,
                client ->
                    client
                        .getLeaseClient()
                        .grant(seconds, requestTimeout.toMillis(), TimeUnit.MILLISECONDS))
            .thenCompose(
                grant -> {
                  ByteSequence key = LockKeys.session(namespace, grant.getID());
                  PutOption onLease = PutOption.builder().withLeaseId(grant.getID()).build();
                  return requests
                      .send(
                          requestTimeout,
                          client -> client.getKVClient().put(key, ByteSequence.EMPTY, onLease))
                      .whenComplete(
                          (put, failure) -> {
                            if (failure != null) {
                              revoke(grant.getID());
                            }
                          })
                      .thenApply(
                          put ->
                              new Session(
                                  grant.getID(),
                                  key,
                                  Duration.ofSeconds(grant.getTTL()),
                                  put.getHeader().getRevision(),
                                  new Confirmation(sentAt, Confirmation.ALWAYS)));
                })
            .whenComplete(
                (session, failure) -> {
                  if (session == null) {
                    result.completeExceptionally(failure);
                  } else {
                    result.complete(session);
                    schedule(session, SIGNS_OF_LIFE);
                    if (closed) {
                      session.end();
                      revoke(session.lease());
                    }
                  }
                });
  }

  /**
   * Writes a session's key anew, which somebody has deleted. The keys on its lease are not
   * concerned.
   */
  void writeKey(Session session, Deadline deadline) throws InterruptedException {
    PutOption onLease = PutOption.builder().withLeaseId(session.lease()).build();
    try {
      session.guardMoved(
          requests
              .ask(
                  deadline,
                  client -> client.getKVClient().put(session.key(), ByteSequence.EMPTY, onLease))
              .getHeader()
              .getRevision());
    } catch (LockException e) {
      if (!Failures.saysLeaseIsGone(e)) {
        throw e;
      }
      over(session, ENDED);
    }
  }

  /** Keeps a session alive; tries again while there is time. */
  Confirmation confirm(Session session, Deadline deadline) throws InterruptedException {
    try {
      Confirmation confirmation = confirm(session.lease(), deadline);
      session.confirmed(confirmation);
      return confirmation;
    } catch (LockException e) {
      if (Failures.saysLeaseIsGone(e)) {
        over(session, ENDED);
      }
      throw e;
    }
  }

  /** Keeps any lease alive; tries again while there is time. */
  Confirmation confirm(long lease, Deadline deadline) throws InterruptedException {
    long sentAt = time().nanoTime();
    LeaseKeepAliveResponse answer =
        requests.askAgain(deadline, client -> client.getLeaseClient().keepAliveOnce(lease));
    return new Confirmation(sentAt, answer.getHeader().getRaftTerm());
  }

  private void schedule(Session session, int partOfTimeToLive) {
    long pause = session.timeToLive().dividedBy(partOfTimeToLive).toMillis();
    try {
      var unused = heart.schedule(() -> beat(session), pause, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      // The client was closed meanwhile, which ends its sessions.
    }
  }

  private void beat(Session session) {
    if (session.isOver()) {
      return;
    }
    if (session.endIfIdle()) {
      forgetSpent();
      revoke(session.lease());
      return;
    }
    long sentAt = time().nanoTime();
    Duration limit = session.timeToLive().dividedBy(SIGNS_OF_LIFE);
    var unused =
        requests
            .send(
                limit.compareTo(requestTimeout) < 0 ? limit : requestTimeout,
                client -> client.getLeaseClient().keepAliveOnce(session.lease()))
            .whenComplete(
                (answer, failure) -> {
                  if (answer != null) {
                    session.confirmed(new Confirmation(sentAt, answer.getHeader().getRaftTerm()));
                  } else if (Failures.saysLeaseIsGone(failure)) {
                    over(session, ENDED);
                    return;
                  }
                  schedule(session, failure == null ? SIGNS_OF_LIFE : RETRIES);
                });
  }

  /**
   * Ends a session before its time, because that is the only way to get rid of a key. What else
   * hangs on it is lost.
   */
  void giveUp(Session session, String why) {
    log.warn("{}; the session is ended in place of it, and what is held on it is lost", why);
    over(session, "it was ended: " + why);
    revoke(session.lease());
  }

  // There is one for each TTL that was ever asked for.
  private void forgetSpent() {
    sessions.values().removeIf(Sessions::isSpent);
  }

  /** The server has ended the session, and every key on its lease with it. */
  void over(Session session, String how) {
    List<QueueEntry> ended = session.end();
    forgetSpent();
    for (QueueEntry entry : ended) {
      if (!entry.hasOwnLease()) {
        context.lost(entry.claim(), LossReason.SESSION_ENDED, how);
      }
      entry.wakeUp().signal();
    }
  }

  /** Ends a lease in the background; if that fails it ends with its time to live. */
  @CanIgnoreReturnValue
  CompletableFuture<?> revoke(long lease) {
    CompletableFuture<?> end =
        requests
            .send(requestTimeout, client -> client.getLeaseClient().revoke(lease))
            .whenComplete(
                (answer, failure) -> {
                  if (failure != null) {
                    log.debug("lease {} is left to its end", Long.toHexString(lease), failure);
                  }
                });
    revocations.put(lease, end);
    return end.whenComplete((answer, failure) -> revocations.remove(lease, end));
  }

  private TimeSource time() {
    return context.time();
  }

  @Override
  public void close() {
    closed = true;
    heart.shutdownNow();
    for (CompletableFuture<Session> session : sessions.values()) {
      if (session.isDone() && !session.isCompletedExceptionally()) {
        Session known = session.join();
        known.end();
        revoke(known.lease());
      }
    }
    try {
      requests.await(
          CompletableFuture.allOf(revocations.values().toArray(new CompletableFuture<?>[0])),
          Deadline.in(time(), requestTimeout));
    } catch (ExecutionException | TimeoutException e) {
      log.debug("closed before every lease was ended; the rest end with their time to live", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
