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
 * Waits in a lock's queue, and watches a few of the nodes ahead.
 *
 * <ul>
 *   <li>An exclusive lock, a writer and a request for all permits watch all nodes ahead if there
 *       are at most four, and are granted without another request when these have been deleted. If
 *       there are more, they watch the fourth node ahead until it is deleted.
 *   <li>A reader watches the nearest writer. If that writer is the only one ahead, its deletion
 *       grants the lock without another request to all readers that watch it.
 *   <li>Of the waiters for some permits only the first watches the queue, because any holder may
 *       release the permits that it needs. Each of the others watches its predecessor until that is
 *       deleted or granted. So a waiter that is granted writes its node's data again if such a
 *       waiter may be behind it.
 * </ul>
 *
 * <p>The position survives broken connections: the node stays as long as the session lives, and the
 * driver sets the watch again. Every poll interval the waiter also reads the watched node and its
 * own, in case an event was lost or its own node was deleted. Where events other than deletions
 * count, it lists the queue instead, and does so less often for a long queue.
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

  /** The nodes that last kept this node from being granted; null if there are none. */
  private volatile @Nullable Blocker blocker;

  /** The time of the next poll. Neither signals nor short waits postpone it. */
  private Deadline nextPoll;

  private int pollsSinceListing;
  private @Nullable LockException lastFailure;

  /** The known labels of the blocker's nodes, by their paths. */
  private final Map<String, String> labels = new HashMap<>();

  /** Whether the session was confirmed after this node was granted. */
  private boolean sessionConfirmed;

  /** The listing that was requested when the blocker's node changed; null if there is none. */
  private volatile @Nullable ReplyFuture<Session.Children> listing;

  /** The paths of the blocker's nodes, without those that were seen to be deleted. */
  @GuardedBy("this")
  private final Set<String> ahead = new LinkedHashSet<>();

  /** The paths whose watches have not fired. */
  @GuardedBy("this")
  private final Set<String> watched = new HashSet<>();

  /**
   * Whether the requests for the watches were answered; the replies may show a change that fires no
   * event.
   */
  private boolean watchesSet;

  /** Whether the blocker has gone, or may have. */
  private volatile boolean mayAdvance;

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
    waitFor(queue.blockerOf(position));
    this.nextPoll = nextPoll();
    session.addWaiter(wakeUp);
    announceOwnGrant();
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
        if (lastFailure != null) {
          throw lastFailure;
        }
        Blocker current = blocker;
        if (current == null) {
          // Not busy: on the servers this client holds the lock.
          throw backend.failures().unconfirmed();
        }
        return new Attempt.Busy(backend.pollInterval(), label(current));
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
        // The position lasts as long as the session. A request that the deadline cut short is no
        // failure: by the last answer there still is a blocker.
        if (e.code() != Code.OPERATIONTIMEOUT || blocker == null || !deadline.hasPassed()) {
          lastFailure = problem;
        }
      }
    }
  }

  private void proceed(Deadline deadline) throws KeeperException, InterruptedException {
    Deadline requestDeadline = deadline.atMost(backend.requestTimeout());
    Blocker current = blocker;
    if (current == null) {
      confirm(requestDeadline);
    } else if (mayAdvance) {
      advance(current, requestDeadline);
    } else if (!isWatching()) {
      watch(current, requestDeadline);
    } else if (nextPoll.hasPassed()) {
      nextPoll = nextPoll();
      poll(current, requestDeadline);
    } else {
      wakeUp.await(deadline.atMost(nextPoll.remaining()));
    }
  }

  private Deadline nextPoll() {
    return Deadline.in(backend.time(), backend.pollInterval());
  }

  // --- granted --------------------------------------------------------------------------------

  /**
   * Whether three quarters of the validity after the last committed write remain. After a write for
   * this purpose a quarter is enough, because another write would take as long.
   */
  private boolean sessionIsFresh() {
    long validity = session.certainty().validityPerConfirmation().toNanos();
    long remaining = session.certainty().until() - backend.time().nanoTime();
    return remaining > validity * (sessionConfirmed ? 1 : 3) / 4;
  }

  /** Confirms the session and this client's node. */
  private void confirm(Deadline deadline) throws KeeperException, InterruptedException {
    if (!session.awaitLeaderContact(wakeUp, deadline)) {
      lastFailure = backend.failures().noLeaderContact(lastFailure);
      return;
    }
    long sentAt = backend.time().nanoTime();
    if (session.check(List.of(node.path())).await(deadline).get(0) != 0) {
      throw backend.failures().nodeDeleted();
    }
    session.certainty().confirm(sentAt);
    sessionConfirmed = true;
    lastFailure =
        sessionIsFresh()
            ? null
            : backend.failures().slow(session.certainty().validityPerConfirmation());
  }

  private void announceOwnGrant() {
    if (blocker == null && queue.isGrantAwaited(position)) {
      backend.announceGrant(claim, node);
    }
  }

  // --- the queue ------------------------------------------------------------------------------

  /**
   * Finds out what else is in the way after the blocker has gone. If nothing can be, the claim is
   * granted.
   */
  private void advance(Blocker previous, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (previous.isComplete()) {
      waitFor(null);
    } else {
      // A session never sees an older state than before.
      ReplyFuture<Session.Children> requested = listing;
      listing = null; // so that a failure makes the next call ask again
      update((requested == null ? session.children(node.lockPath()) : requested).await(deadline));
    }
    lastFailure = null;
  }

  private void update(Session.Children children) {
    LockQueue listed = backend.requireNoForeignNode(node.lockPath(), LockQueue.of(children));
    int listedPosition = listed.positionOf(node.name());
    if (listedPosition < 0) {
      throw backend.failures().nodeDeleted();
    }
    queue = listed;
    position = listedPosition;
    pollsSinceListing = 0;
    waitFor(listed.blockerOf(position));
    announceOwnGrant();
  }

  /**
   * Sets the blocker. Synchronized, so that no event of the previous blocker counts for the new
   * one.
   */
  private synchronized void waitFor(@Nullable Blocker next) {
    blocker = next;
    listing = null;
    mayAdvance = false;
    ahead.clear();
    if (next != null && next.isQueue()) {
      ahead.add(node.lockPath());
    } else if (next != null) {
      next.nodes().forEach(name -> ahead.add(node.lockPath() + "/" + name.full()));
    }
    labels.keySet().retainAll(ahead);
    List<String> obsolete = new ArrayList<>(watched);
    obsolete.removeAll(ahead);
    obsolete.forEach(this::unwatch);
  }

  // --- the blocker ----------------------------------------------------------------------------

  /** The label of the holder if only the holder is ahead; null if it is not known. */
  private synchronized @Nullable String label(Blocker current) {
    return current.isFirst() && ahead.size() == 1 ? labels.get(ahead.iterator().next()) : null;
  }

  private synchronized boolean isWatching() {
    return watchesSet && watched.containsAll(ahead);
  }

  private void watch(Blocker current, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (current.isQueue()) {
      watchQueue(deadline);
    } else {
      watchNodes(current, deadline);
    }
    watchesSet = true;
    lastFailure = null;
  }

  private void watchQueue(Deadline deadline) throws KeeperException, InterruptedException {
    String path = node.lockPath();
    watchesSet = false;
    update(awaitWatch(path, beginWatch(path, () -> session.watchChildren(path, this)), deadline));
  }

  private <T> T awaitWatch(String path, ReplyFuture<T> request, Deadline deadline)
      throws KeeperException, InterruptedException {
    try {
      return request.await(deadline);
    } catch (KeeperException e) {
      if (e.code() != Code.OPERATIONTIMEOUT) {
        removeWatch(path);
      }
      throw e;
    }
  }

  private void watchNodes(Blocker current, Deadline deadline)
      throws KeeperException, InterruptedException {
    Map<String, ReplyFuture<Session.NodeData>> replies = new LinkedHashMap<>();
    for (String path : unwatched()) {
      replies.put(path, beginWatch(path, () -> session.watch(path, this)));
    }
    watchesSet = false;
    for (var reply : replies.entrySet()) {
      String path = reply.getKey();
      try {
        Session.NodeData data = awaitWatch(path, reply.getValue(), deadline);
        labels.put(path, data.text());
        // If the node was granted earlier, no event follows. If another program has written its
        // data, the listing shows that nothing has changed, and the watch stays.
        if (current.watchesGrants() && data.version() > 0) {
          mayAdvance = true;
        }
      } catch (KeeperException e) {
        if (!Failures.isNoNode(e)) {
          throw e;
        }
        onGone(path, current);
      }
    }
  }

  /** The paths that have yet to be watched: all of them if any request was not answered. */
  private synchronized List<String> unwatched() {
    List<String> paths = new ArrayList<>(ahead);
    if (watchesSet) {
      paths.removeAll(watched);
    }
    return paths;
  }

  /**
   * Begins a watch. The path is added before the request, because a late reply also means that the
   * watch is set.
   */
  private synchronized <T> T beginWatch(String path, Supplier<T> request) {
    if (closed) {
      throw backend.failures().temporary("the wait was ended", null);
    }
    watched.add(path);
    return request.get();
  }

  private void poll(Blocker current, Deadline deadline)
      throws KeeperException, InterruptedException {
    if (current.isQueue()) {
      watch(current, deadline);
    } else if (isListingDue(current)) {
      update(session.children(node.lockPath()).await(deadline));
      lastFailure = null;
    } else {
      readAll(current, deadline);
    }
  }

  private boolean isListingDue(Blocker current) {
    pollsSinceListing++;
    return current.watchesGrants() && pollsSinceListing * NODES_PER_POLL >= queue.nodes().size();
  }

  private void readAll(Blocker current, Deadline deadline)
      throws KeeperException, InterruptedException {
    ReplyFuture<Session.NodeData> own = session.data(node.path());
    Map<String, ReplyFuture<Session.NodeData>> others = new LinkedHashMap<>();
    pathsAhead().forEach(path -> others.put(path, session.data(path)));
    own.await(deadline);
    for (var other : others.entrySet()) {
      try {
        other.getValue().await(deadline);
      } catch (KeeperException e) {
        if (!Failures.isNoNode(e)) {
          throw e;
        }
        unwatch(other.getKey());
        onGone(other.getKey(), current);
      }
    }
    lastFailure = null;
  }

  private synchronized List<String> pathsAhead() {
    return List.copyOf(ahead);
  }

  @Override
  public void process(WatchedEvent event) {
    // The driver sets watches again after a broken connection, and the session's end wakes every
    // waiter.
    if (event.getType() == EventType.None || needsThread(event.getPath(), event.getType())) {
      wakeUp.signal();
    }
  }

  /**
   * Handles an event, and returns whether the waiting thread has something to do. Synchronized, so
   * that the event counts for the blocker that is watched, and for no later one.
   */
  private synchronized boolean needsThread(String path, EventType type) {
    Blocker current = blocker;
    if (!removeWatch(path) || current == null) {
      return false;
    }
    // Data changes when the blocker's claim is granted, or another program writes to the node.
    if (type == EventType.NodeDeleted
        || (type == EventType.NodeDataChanged && current.watchesGrants())) {
      onGone(path, current);
      return mayAdvance;
    }
    return true;
  }

  /** Called when a node has been deleted or granted. */
  private synchronized void onGone(String path, Blocker current) {
    ahead.remove(path);
    if (!current.isComplete()) {
      if (!closed) {
        // Requested here so that the listing is on its way before the waiting thread wakes.
        listing = session.children(node.lockPath());
      }
      mayAdvance = true;
    } else if (ahead.isEmpty()) {
      mayAdvance = true;
    }
  }

  /** Removes a watch that has fired or was not set; returns whether the path was watched. */
  private synchronized boolean removeWatch(String path) {
    boolean wasWatched = watched.remove(path);
    if (wasWatched) {
      session.forgetWatch(path, this);
    }
    return wasWatched;
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
