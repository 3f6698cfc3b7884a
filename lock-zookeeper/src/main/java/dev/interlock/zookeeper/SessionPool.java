package dev.interlock.zookeeper;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions that one client has at the same time: as many as it takes to keep each below its
 * {@linkplain NodeAccount limit}. A node is created on the first session that has room for it, and
 * a further session is begun when none has. Sessions stay until the client is closed, to be used
 * again.
 */
final class SessionPool {

  private static final Logger log = LoggerFactory.getLogger(SessionPool.class);

  private final List<Sessions> all = new CopyOnWriteArrayList<>();
  private final @Nullable Supplier<Sessions> next;
  private final Failures failures;

  @GuardedBy("this")
  private boolean closed;

  /**
   * Begins with the sessions of one framework.
   *
   * @param next begins further ones without waiting for a connection; null if there is only the
   *     framework of the program
   */
  SessionPool(Sessions first, @Nullable Supplier<Sessions> next, Failures failures) {
    this.all.add(first);
    this.next = next;
    this.failures = failures;
  }

  /** The sessions for requests that belong to no node of this client. */
  Sessions first() {
    return all.get(0);
  }

  /**
   * Reserves room for a claim's node, until {@link Session#nodeGone}.
   *
   * @return the session on which the node may be created
   */
  Session reserve(Claim claim, Deadline deadline) throws InterruptedException {
    while (true) {
      List<Sessions> full = List.copyOf(all);
      for (Sessions each : full) {
        Session session = each.current();
        if (session.reserve(claim)) {
          return session;
        }
      }
      if (next == null) {
        throw failures.sessionFull();
      }
      // Nodes whose creation was not answered count as well. Without this an outage would fill one
      // session after the other.
      for (Sessions each : full) {
        if (!each.awaitConnection(deadline)) {
          throw failures.temporary("no session with a connection has room for another node", null);
        }
      }
      extend(full.size(), next);
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
    List<Thread> threads = new ArrayList<>();
    for (Sessions each : all.subList(1, all.size())) {
      Thread thread = new Thread(each::close, "interlock-zookeeper-close");
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
    first().close();
    threads.forEach(Uninterruptibles::joinUninterruptibly);
  }
}
