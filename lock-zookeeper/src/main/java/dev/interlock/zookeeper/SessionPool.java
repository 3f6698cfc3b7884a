package dev.interlock.zookeeper;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Later;
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
 * {@linkplain NodeAccount limit}. A node is created on the first session that has a connection and
 * room for it, and a further session is begun when all have connections and none has room. Sessions
 * stay until the client is closed, to be used again.
 */
final class SessionPool {

  private static final Logger log = LoggerFactory.getLogger(SessionPool.class);

  /** Another session may get room or a connection first, and the client may be closed. */
  private static final Duration UNTIL_NEXT_LOOK = Duration.ofMillis(100);

  private final List<Sessions> all = new CopyOnWriteArrayList<>();
  private final @Nullable Supplier<Sessions> next;
  private final Later later;
  private final Failures failures;

  @GuardedBy("this")
  private boolean closed;

  /**
   * Begins with the sessions of one framework.
   *
   * @param next begins further ones without waiting for a connection; null if there is only the
   *     framework of the program
   * @param later what the sessions use; closed with them, unless the sessions outlive this
   */
  SessionPool(Sessions first, @Nullable Supplier<Sessions> next, Later later, Failures failures) {
    this.all.add(first);
    this.next = next;
    this.later = later;
    this.failures = failures;
  }

  /** The sessions for requests that belong to no node of this client. */
  Sessions first() {
    return all.get(0);
  }

  /**
   * Reserves room for a claim's node, until {@link Session#nodeGone}, on the first session that has
   * a connection and room. What is requested without a connection stays in doubt until there is one
   * again, and counts: an outage would fill one session after the other.
   *
   * @return the session on which the node may be created
   */
  Session reserve(Claim claim, Deadline deadline) throws InterruptedException {
    while (true) {
      List<Sessions> present = List.copyOf(all);
      Sessions unconnected = null;
      boolean isFull = false;
      for (Sessions each : present) {
        Session session = each.current();
        // On one that has ended, the request fails at once and tells why.
        if (!each.isConnected() && !session.hasEnded()) {
          unconnected = each;
        } else if (session.reserve(claim)) {
          return session;
        } else {
          isFull = true;
        }
      }
      if (unconnected != null) {
        if (deadline.hasPassed()) {
          throw failures.temporary(
              isFull
                  ? "no session with a connection has room for another node"
                  : "there is no connection",
              null);
        }
        unconnected.awaitConnection(deadline.orIn(UNTIL_NEXT_LOOK));
      } else if (next == null) {
        throw failures.sessionFull();
      } else {
        extend(present.size(), next);
      }
    }
  }

  /** Begins another session, unless another thread has done so meanwhile. */
  private synchronized void extend(int full, Supplier<Sessions> next) {
    if (closed) {
      throw failures.temporary("the lock client is closed", null);
    }
    if (all.size() == full) {
      log.debug("beginning another session; this client has {}", full);
      all.add(next.get());
    }
  }

  /** Ends all at the same time, because each may take a request time-out if no server answers. */
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
      later.close();
    }
  }
}
