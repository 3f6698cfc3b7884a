package dev.interlock.zookeeper;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions that one client has at the same time: as many as it takes to keep each below its
 * {@linkplain NodeAccount limit}. The client creates a node on the first session that has a
 * connection and room for it. It begins another session when all have connections and none has
 * room. Sessions stay until the client is closed.
 */
final class SessionPool {

  private static final Logger log = LoggerFactory.getLogger(SessionPool.class);

  /** Meanwhile another session may get room or a connection, or the client may be closed. */
  private static final Duration RETRY_PAUSE = Duration.ofMillis(100);

  private final List<Sessions> all = new CopyOnWriteArrayList<>();
  private final @Nullable Supplier<Sessions> next;
  private final DelayedTasks delayed;
  private final Failures failures;

  @GuardedBy("this")
  private boolean closed;

  /**
   * Begins with the sessions of one framework.
   *
   * @param next begins another session without waiting for a connection; null if there is only the
   *     program's framework
   * @param delayed the scheduler of the sessions; closed with them, unless the sessions outlive
   *     this pool
   */
  SessionPool(
      Sessions first, @Nullable Supplier<Sessions> next, DelayedTasks delayed, Failures failures) {
    this.all.add(first);
    this.next = next;
    this.delayed = delayed;
    this.failures = failures;
  }

  /** The sessions for requests that concern no node of this client. */
  Sessions first() {
    return all.get(0);
  }

  /**
   * Reserves room for a claim's node, until {@link Session#forgetNode}, on the first session that
   * has a connection and room. A request sent without a connection is in doubt until there is one
   * again, and its node counts meanwhile: an outage would fill one session after the other.
   *
   * @return the session on which the node may be created
   */
  Session reserve(Claim claim, Deadline deadline) throws InterruptedException {
    while (true) {
      List<Sessions> existing = List.copyOf(all);
      Sessions disconnected = null;
      boolean isFull = false;
      for (Sessions each : existing) {
        Session session = each.current();
        // On a session that has ended, the request fails at once, with the reason.
        if (!each.isConnected() && !session.hasEnded()) {
          disconnected = each;
        } else if (session.reserve(claim)) {
          return session;
        } else {
          isFull = true;
        }
      }
      if (disconnected != null) {
        if (deadline.hasPassed()) {
          throw failures.temporary(
              isFull ? "no connected session has room for another node" : "there is no connection",
              null);
        }
        disconnected.awaitConnection(deadline.atMost(RETRY_PAUSE));
      } else if (next == null) {
        throw failures.sessionFull();
      } else {
        beginAnother(existing.size(), next);
      }
    }
  }

  /** Begins another session, unless another thread has done so. */
  private synchronized void beginAnother(int count, Supplier<Sessions> next) {
    if (closed) {
      throw failures.temporary("the lock client is closed", null);
    }
    if (all.size() == count) {
      log.debug("beginning another session: the {} sessions of this client are full", count);
      all.add(next.get());
    }
  }

  /**
   * Ends all sessions at the same time, because each may take a request time-out if no server
   * answers.
   */
  void close() {
    synchronized (this) {
      closed = true;
    }
    ThreadFactory closers = DaemonThreads.factory("interlock-zookeeper-close");
    List<Thread> threads = new ArrayList<>();
    for (Sessions each : all.subList(1, all.size())) {
      Thread thread = closers.newThread(each::close);
      thread.start();
      threads.add(thread);
    }
    first().close();
    threads.forEach(Uninterruptibles::joinUninterruptibly);
    if (next != null) {
      delayed.close();
    }
  }
}
