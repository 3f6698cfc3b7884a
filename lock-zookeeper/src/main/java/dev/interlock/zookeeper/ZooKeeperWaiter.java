package dev.interlock.zookeeper;

import dev.interlock.LockException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * Waits in a lock's queue, and watches the predecessor's node and no other.
 *
 * <p>The position outlasts broken connections: the node stays as long as the session lives, and the
 * driver sets the watch again. It is lost with the session. Every poll interval the waiter also
 * reads the predecessor's node and its own, in case an event was lost or its own node was deleted.
 */
final class ZooKeeperWaiter implements QueueingBackend.Place, Watcher {

  private final ZooKeeperBackend backend;
  private final Claim claim;
  private final QueueNode node;
  private final Session session;
  private final WakeUp wakeUp;

  private LockQueue queue;
  private volatile int position;
  private @Nullable LockException trouble;

  /** The label of the node in front; null if it is not known. */
  private @Nullable String ahead;

  /** Whether the session was confirmed after this node became the first. */
  private boolean confirmed;

  /** The listing that was requested when the predecessor's node was deleted, or null. */
  private volatile @Nullable ReplyFuture<Session.Children> listing;

  /** The node that is watched; null if none is, or its watch has fired. */
  private volatile @Nullable String watched;

  private volatile boolean predecessorGone;
  private volatile boolean closed;

  ZooKeeperWaiter(
      ZooKeeperBackend backend, Claim claim, QueueNode node, LockQueue queue, int position) {
    this.backend = backend;
    this.claim = claim;
    this.node = node;
    this.session = node.session();
    this.wakeUp = new WakeUp(backend.time());
    this.queue = queue;
    this.position = position;
    session.addWaiter(wakeUp);
  }

  @Override
  public boolean hasPredecessor() {
    return position != 0;
  }

  @Override
  public Attempt await(Deadline deadline) throws InterruptedException {
    while (true) {
      if (closed) {
        throw backend.failures().temporary("the wait was ended", null);
      }
      if (session.hasEnded()) {
        throw backend.failures().sessionEnded();
      }
      if (position == 0 && sessionIsFresh()) {
        return backend.grant(claim, node);
      }
      if (deadline.hasPassed()) {
        if (trouble != null) {
          throw trouble;
        }
        return new Attempt.Busy(backend.pollInterval(), position == 1 ? ahead : null);
      }
      try {
        proceed(deadline);
      } catch (KeeperException e) {
        LockException problem = backend.failures().explain(e);
        if (!Failures.isTemporary(e)) {
          throw problem;
        }
        // The position lasts as long as the session. A request that our own deadline cut short is
        // no trouble: by the last answer there still is a predecessor.
        if (e.code() != Code.OPERATIONTIMEOUT || position == 0 || !deadline.hasPassed()) {
          trouble = problem;
        }
      }
    }
  }

  private void proceed(Deadline deadline) throws KeeperException, InterruptedException {
    Deadline soon = deadline.orIn(backend.requestTimeout());
    if (position == 0) {
      confirm(soon);
    } else if (predecessorGone) {
      advance(soon);
    } else if (watched == null) {
      watch(soon);
    } else if (!wakeUp.await(deadline.orIn(backend.pollInterval())) && !deadline.hasPassed()) {
      poll(soon);
    }
  }

  // --- first in the queue ---------------------------------------------------------------------

  /**
   * Whether most of the validity after the last committed write is left. After a write for this
   * very purpose a quarter is enough: another one would take as long.
   */
  private boolean sessionIsFresh() {
    long age = backend.time().nanoTime() - session.confirmedAt();
    return age < session.validityPerConfirmation().toNanos() * (confirmed ? 3 : 1) / 4;
  }

  /** Confirms the session and this client's own node. */
  private void confirm(Deadline deadline) throws KeeperException, InterruptedException {
    if (!session.awaitLeaderContact(wakeUp, deadline)) {
      trouble = backend.failures().noLeaderContact(trouble);
      return;
    }
    long sentAt = backend.time().nanoTime();
    if (backend.check(session, List.of(node.path()), deadline).get(0) != 0) {
      throw backend.failures().nodeDeleted();
    }
    session.confirm(sentAt);
    confirmed = true;
    trouble = sessionIsFresh() ? null : backend.failures().slow(session.validityPerConfirmation());
  }

  /** The predecessor has gone. If it was the only one, this client is the first now. */
  private void advance(Deadline deadline) throws KeeperException, InterruptedException {
    if (position == 1) {
      position = 0;
    } else {
      // As this session sees it, which is never older than what it saw before.
      ReplyFuture<Session.Children> asked = listing;
      listing = null; // so that a failure makes the next call ask again
      if (asked == null) {
        asked = session.children(node.lockPath());
      }
      queue = backend.checked(node.lockPath(), LockQueue.of(asked.await(deadline)));
      position = queue.positionOf(node.name());
      if (position < 0) {
        throw backend.failures().nodeDeleted();
      }
    }
    listing = null;
    ahead = null;
    predecessorGone = false;
    trouble = null;
  }

  // --- the predecessor ------------------------------------------------------------------------

  private String predecessor() {
    return node.lockPath() + "/" + queue.nodes().get(position - 1).full();
  }

  private void watch(Deadline deadline) throws KeeperException, InterruptedException {
    String path = predecessor();
    // Before the request, so that no event comes earlier; and a late answer sets the watch, too.
    watched = path;
    try {
      ahead = session.watch(path, this).await(deadline).text();
      trouble = null;
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        watched = null;
        predecessorGone = true;
        return;
      }
      if (e.code() != Code.OPERATIONTIMEOUT) {
        watched = null;
      }
      throw e;
    }
  }

  private void poll(Deadline deadline) throws KeeperException, InterruptedException {
    ReplyFuture<Session.NodeData> before = session.data(predecessor());
    ReplyFuture<Session.NodeData> own = session.data(node.path());
    try {
      own.await(deadline);
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        throw backend.failures().nodeDeleted();
      }
      throw e;
    }
    try {
      before.await(deadline);
      trouble = null;
    } catch (KeeperException e) {
      if (!Failures.isNoNode(e)) {
        throw e;
      }
      unwatch();
      predecessorGone = true;
    }
  }

  @Override
  public void process(WatchedEvent event) {
    switch (event.getType()) {
      case NodeDeleted -> {
        if (event.getPath().equals(watched)) {
          watched = null;
          if (position > 1 && !closed) {
            // Requested here, the listing is under way before the waiting thread is awake.
            listing = session.children(node.lockPath());
          }
          predecessorGone = true;
        }
      }
      // No lock client writes to these nodes, but a write by another program uses the watch up.
      case NodeDataChanged -> watched = null;
      default -> {
        // The driver sets the watch again after a broken connection, and the session's end wakes
        // every waiter.
      }
    }
    wakeUp.signal();
  }

  private void unwatch() {
    String path = watched;
    if (path != null) {
      watched = null;
      session.unwatch(path);
    }
  }

  @Override
  public void close() {
    closed = true;
    session.removeWaiter(wakeUp);
    unwatch();
    wakeUp.signal();
  }
}
