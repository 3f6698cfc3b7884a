package dev.interlock.zookeeper;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The reply to one request, for one waiting thread. The driver's own blocking calls take no
 * deadline, and do not distinguish an interrupt from a reply.
 */
final class ReplyFuture<T> {

  private final String path;
  private final Session session;
  private final long sentAt;
  private final WakeUp arrived;
  private volatile @Nullable T value;
  private volatile @Nullable KeeperException error;

  ReplyFuture(String path, Session session) {
    this.path = path;
    this.session = session;
    this.sentAt = session.sessions().time().nanoTime();
    this.arrived = new WakeUp(session.sessions().time());
  }

  String path() {
    return path;
  }

  /** The session that sent the request. */
  Session session() {
    return session;
  }

  /** Completes the future on the driver's thread. */
  void complete(int code, @Nullable T result) {
    if (code == Code.CONNECTIONLOSS.intValue()) {
      session.connection().onRequestEnd();
    } else {
      session.connection().onReply();
    }
    if (code == Code.OK.intValue() && result != null) {
      value = result;
    } else {
      Code reply = Code.get(code);
      error = KeeperException.create(reply == null ? Code.SYSTEMERROR : reply, path);
    }
    arrived.signal();
  }

  /** Waits for a reply or an error, until the deadline. */
  void awaitEnd(Deadline deadline) throws InterruptedException {
    while (value == null && error == null && arrived.await(deadline)) {
      // A signal may be spurious.
    }
  }

  /** Whether the servers certainly did not carry out the request, and never will. */
  boolean isRefused() {
    KeeperException failure = error;
    return failure != null && !Failures.isInDoubt(failure.code());
  }

  /**
   * Waits for the reply.
   *
   * @throws KeeperException if the reply is an error, or none came by the deadline
   */
  T await(Deadline deadline) throws KeeperException, InterruptedException {
    awaitEnd(deadline);
    T reply = value;
    if (reply != null) {
      return reply;
    }
    KeeperException failure = error;
    if (failure != null) {
      throw failure;
    }
    session.connection().onRequestTimeout(sentAt);
    throw KeeperException.create(Code.OPERATIONTIMEOUT, path);
  }
}
