package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.WatcherType;
import org.jspecify.annotations.Nullable;

/**
 * Waits in a lock's queue, and watches few of the nodes ahead.
 *
 * <ul>
 *   <li>An exclusive lock, a writer and a request for all permits watch all four nodes ahead of
 *       them, or fewer if there are no more, and are granted without another request when these
 *       have been deleted. If there are more, they watch the fourth of them until it is deleted.
 *   <li>A reader watches the nearest writer. When that is deleted and was the only one, the reader
 *       is granted without another request, as are all that watched the same writer.
 *   <li>Of those that wait for some permits only the first watches the queue: any holder may return
 *       what it needs. Everybody else watches the predecessor, until that is deleted or granted. A
 *       waiter that is granted while such a one may be behind it therefore writes its node's data
 *       again.
 * </ul>
 *
 * <p>The position outlasts broken connections: the node stays as long as the session lives, and the
 * driver sets the watch again. It is lost with the session. Every poll interval the waiter also
 * reads the watched node and its own, in case an event was lost or its own node was deleted. Where
 * other events than a deletion count, it lists the queue instead, a long one less often.
 */
final class ZooKeeperWaiter implements QueueingBackend.Place, Watcher {

  /** A waiter lists a queue of this many nodes at every poll, and longer ones less often. */
  private static final int NODES_PER_POLL = 16;

  private final ZooKeeperBackend backend;
  private final Claim claim;
  private final QueueNode node;
  private final Session session;
  private final WakeUp wakeUp;

  private LockQueue queue;
  private int position;

  /** What keeps this node from being granted, when last seen; null if nothing does. */
  private volatile @Nullable Blocker blocker;

  /** By time: neither signals nor the ends of short waits postpone it. */
  private Deadline nextPoll;

  private int pollsSinceListing;
  private @Nullable LockException trouble;

  /** The labels of the blocker's nodes by their paths, as far as they are known. */
  private final Map<String, String> labels = new HashMap<>();

  /** Whether the session was confirmed after this node was granted. */
  private boolean confirmed;

  /** The listing that was requested when the blocker's node changed, or null. */
  private volatile @Nullable ReplyFuture<Session.Children> listing;

  /** The paths of what the blocker consists of, without the nodes that were seen to be deleted. */
  @GuardedBy("this")
  private final Set<String> ahead = new LinkedHashSet<>();

  /** The paths that are watched, and whose watches have not fired. */
  @GuardedBy("this")
  private final Set<String> watched = new HashSet<>();

  /** Whether the requests for the watches were answered: what they say is missed otherwise. */
  private boolean answered;

  /** Whether the blocker has gone, or it takes a look to know. */
  private volatile boolean moved;

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
    follow(queue.blockerOf(position));
    this.nextPoll = nextPoll();
    session.addWaiter(wakeUp);
    announceIfGranted();
  }

  @Override
  public boolean hasPredecessor() {
    return blocker != null;
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
      if (blocker == null && sessionIsFresh()) {
        return backend.grant(claim, node);
      }
      if (deadline.hasPassed()) {
        if (trouble != null) {
          throw trouble;
        }
        Blocker present = blocker;
        if (present == null) {
          // Not busy: the lock is ours on the servers.
          throw backend.failures().unconfirmed();
        }
        return new Attempt.Busy(backend.pollInterval(), label(present));
      }
      try {
        proceed(deadline);
      } catch (KeeperException e) {
        if (Failures.isNoNode(e)) {
          throw backend.failures().nodeDeleted();
        }
        LockException problem = backend.failures().explain(e);
        if (!Failures.isTemporary(e)) {
          throw problem;
        }
        // The position lasts as long as the session. A request that our own deadline cut short is
        // no trouble: by the last answer there still is a blocker.
        if (e.code() != Code.OPERATIONTIMEOUT || blocker == null || !deadline.hasPassed()) {
          trouble = problem;
        }
      }
    }
  }

  private void proceed(Deadline deadline) throws KeeperException, InterruptedException {
    Deadline soon = deadline.orIn(backend.requestTimeout());
    Blocker present = blocker;
    if (present == null) {
      confirm(soon);
    } else if (moved) {
      advance(present, soon);
    } else if (!isWatching()) {
      watch(present, soon);
    } else if (nextPoll.hasPassed()) {
      nextPoll = nextPoll();
      poll(present, soon);
    } else {
      wakeUp.await(deadline.orIn(nextPoll.remaining()));
    }
  }

  private Deadline nextPoll() {
    return Deadline.in(backend.time(), backend.pollInterval());
  }

  // --- granted --------------------------------------------------------------------------------

  /**
   * Whether most of the validity after the last committed write is left. After a write for this
   * very purpose a quarter is enough: another one would take as long.
   */
  private boolean sessionIsFresh() {
    long validity = session.certainty().validityPerConfirmation().toNanos();
    long remaining = session.certainty().until() - backend.time().nanoTime();
    return remaining > validity * (confirmed ? 1 : 3) / 4;
  }

  /** Confirms the session and this client's own node. */
  private void confirm(Deadline deadline) throws KeeperException, InterruptedException {
    if (!session.awaitLeaderContact(wakeUp, deadline)) {
      trouble = backend.failures().noLeaderContact(trouble);
      return;
    }
    long sentAt = backend.time().nanoTime();
    if (session.check(List.of(node.path())).await(deadline).get(0) != 0) {
      throw backend.failures().nodeDeleted();
    }
    session.certainty().confirm(sentAt);
    confirmed = true;
    trouble =
        sessionIsFresh()
            ? null
            : backend.failures().slow(session.certainty().validityPerConfirmation());
  }

  private void announceIfGranted() {
    if (blocker == null && queue.isAwaited(position)) {
      backend.announce(claim, node);
    }
  }

  // --- the queue ------------------------------------------------------------------------------

  /** The blocker has gone. If it was the only one, this claim is granted now. */
  private void advance(Blocker before, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (before.areAll()) {
      follow(null);
    } else {
      // As this session sees it, which is never older than what it saw before.
      ReplyFuture<Session.Children> asked = listing;
      listing = null; // so that a failure makes the next call ask again
      see((asked == null ? session.children(node.lockPath()) : asked).await(deadline));
    }
    trouble = null;
  }

  private void see(Session.Children children) {
    LockQueue now = backend.checked(node.lockPath(), LockQueue.of(children));
    int place = now.positionOf(node.name());
    if (place < 0) {
      throw backend.failures().nodeDeleted();
    }
    queue = now;
    position = place;
    pollsSinceListing = 0;
    follow(now.blockerOf(place));
    announceIfGranted();
  }

  /** Waits for another blocker from now on. In one step: no event of the former counts for it. */
  private synchronized void follow(@Nullable Blocker next) {
    blocker = next;
    listing = null;
    moved = false;
    ahead.clear();
    if (next != null && next.isQueue()) {
      ahead.add(node.lockPath());
    } else if (next != null) {
      next.nodes().forEach(name -> ahead.add(node.lockPath() + "/" + name.full()));
    }
    labels.keySet().retainAll(ahead);
    List<String> former = new ArrayList<>(watched);
    former.removeAll(ahead);
    former.forEach(this::unwatch);
  }

  // --- the blocker ----------------------------------------------------------------------------

  /** The label of the only one ahead, which holds the lock; null if it is not known. */
  private synchronized @Nullable String label(Blocker present) {
    return present.isFirst() && ahead.size() == 1 ? labels.get(ahead.iterator().next()) : null;
  }

  private synchronized boolean isWatching() {
    return answered && watched.containsAll(ahead);
  }

  private void watch(Blocker present, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (present.isQueue()) {
      watchQueue(deadline);
    } else {
      watchNodes(present, deadline);
    }
    answered = true;
    trouble = null;
  }

  private void watchQueue(Deadline deadline) throws KeeperException, InterruptedException {
    String path = node.lockPath();
    answered = false;
    see(awaitWatch(path, watching(path, () -> session.watchChildren(path, this)), deadline));
  }

  /** Waits for the answer to a request for a watch. */
  private <T> T awaitWatch(String path, ReplyFuture<T> request, Deadline deadline)
      throws KeeperException, InterruptedException {
    try {
      return request.await(deadline);
    } catch (KeeperException e) {
      if (e.code() != Code.OPERATIONTIMEOUT) {
        watchEnded(path);
      }
      throw e;
    }
  }

  private void watchNodes(Blocker present, Deadline deadline)
      throws KeeperException, InterruptedException {
    Map<String, ReplyFuture<Session.NodeData>> replies = new LinkedHashMap<>();
    for (String path : unwatched()) {
      replies.put(path, watching(path, () -> session.watch(path, this)));
    }
    answered = false;
    for (var reply : replies.entrySet()) {
      String path = reply.getKey();
      try {
        Session.NodeData data = awaitWatch(path, reply.getValue(), deadline);
        labels.put(path, data.text());
        // If it was granted before, no event comes. If another program has written it, the queue
        // shows that nothing has changed, and the watch stays.
        if (present.untilGranted() && data.version() > 0) {
          moved = true;
        }
      } catch (KeeperException e) {
        if (!Failures.isNoNode(e)) {
          throw e;
        }
        gone(path, present);
      }
    }
  }

  /** What has to be watched; all of it again if any request was not answered. */
  private synchronized List<String> unwatched() {
    List<String> paths = new ArrayList<>(ahead);
    if (answered) {
      paths.removeAll(watched);
    }
    return paths;
  }

  /** Begins a watch. Noted before the request: a late answer sets the watch, too. */
  private synchronized <T> T watching(String path, Supplier<T> request) {
    if (closed) {
      throw backend.failures().temporary("the wait was ended", null);
    }
    watched.add(path);
    return request.get();
  }

  private void poll(Blocker present, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (present.isQueue()) {
      watch(present, deadline);
    } else if (isListedNow(present)) {
      see(session.children(node.lockPath()).await(deadline));
      trouble = null;
    } else {
      readAll(present, deadline);
    }
  }

  private boolean isListedNow(Blocker present) {
    pollsSinceListing++;
    return present.untilGranted() && pollsSinceListing * NODES_PER_POLL >= queue.nodes().size();
  }

  private void readAll(Blocker present, Deadline deadline)
      throws KeeperException, InterruptedException {
    ReplyFuture<Session.NodeData> own = session.data(node.path());
    Map<String, ReplyFuture<Session.NodeData>> others = new LinkedHashMap<>();
    stillAhead().forEach(path -> others.put(path, session.data(path)));
    own.await(deadline);
    for (var other : others.entrySet()) {
      try {
        other.getValue().await(deadline);
      } catch (KeeperException e) {
        if (!Failures.isNoNode(e)) {
          throw e;
        }
        unwatch(other.getKey());
        gone(other.getKey(), present);
      }
    }
    trouble = null;
  }

  private synchronized List<String> stillAhead() {
    return List.copyOf(ahead);
  }

  @Override
  public void process(WatchedEvent event) {
    // The driver sets watches again after a broken connection, and the session's end wakes every
    // waiter.
    if (event.getType() == EventType.None || changed(event.getPath(), event.getType())) {
      wakeUp.signal();
    }
  }

  /**
   * Whether the waiting thread has something to do. In one step: the event counts for the blocker
   * that is watched, and for no later one.
   */
  private synchronized boolean changed(String path, EventType type) {
    Blocker present = blocker;
    if (!watchEnded(path) || present == null) {
      return false;
    }
    // Data changes when the blocker's claim is granted, or another program writes to the node.
    if (type == EventType.NodeDeleted
        || (type == EventType.NodeDataChanged && present.untilGranted())) {
      gone(path, present);
      return moved;
    }
    return true;
  }

  /** A node is no longer in the way, or no longer in the same way. */
  private synchronized void gone(String path, Blocker present) {
    ahead.remove(path);
    if (!present.areAll()) {
      if (!closed) {
        // Requested here, the listing is under way before the waiting thread is awake.
        listing = session.children(node.lockPath());
      }
      moved = true;
    } else if (ahead.isEmpty()) {
      moved = true;
    }
  }

  /** Whether the path was watched. It is no longer. */
  private synchronized boolean watchEnded(String path) {
    boolean was = watched.remove(path);
    if (was) {
      session.watchEnded(path, this);
    }
    return was;
  }

  private synchronized void unwatch(String path) {
    if (watched.remove(path)) {
      boolean queueIsWatched = path.equals(node.lockPath());
      session.unwatch(path, this, queueIsWatched ? WatcherType.Children : WatcherType.Data);
    }
  }

  @Override
  public void close() {
    closed = true;
    session.removeWaiter(wakeUp);
    synchronized (this) {
      List.copyOf(watched).forEach(this::unwatch);
    }
    wakeUp.signal();
  }
}
